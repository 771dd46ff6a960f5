/**
 * Owns a Gangway with two tenants: a quiet one with an app, and a hostile one, who attacks.
 *
 * 1. Attacks are made one at a time. What one of them brought is gone when its `end` resolves.
 * 2. An attack that does not come about is an error: nothing would be measured beside it.
 */
import { chmodSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { createUploadApp, deployFiles, untilStatus, uploadFiles } from '../deploy.ts';
import { freePort } from '../gangway.ts';
import type { Bench, Gangway, Server } from '../harness.ts';
import type { Nuisance, NuisanceResult } from '../load/nuisance.ts';
import { ask } from '../load/requests.ts';
import { randomTar } from '../upload/archives.ts';
import type { Archive } from '../upload/archives.ts';
import type { Uploads, UploadResult } from '../load/upload.ts';
import { quietFiles } from './app.ts';
import type { Attack, HostileApps } from './attacks.ts';

export interface UnderWay {
  /** Resolves when all that clients do is over. */
  clients(seconds: number): Promise<void>;
  end(): Promise<void>;
}

interface HostileApp {
  id: string;
  host: string;
}

const uploadsAtOnce = 4;
/** What was killed is cleared away, and what was written reaches the disk. */
const restMs = 1500;

export class Place {
  readonly edge: Server;
  readonly quietHost: string;
  readonly #bench: Bench;
  readonly #gangway: Gangway;
  #archive: Archive | undefined;

  private constructor(bench: Bench, gangway: Gangway, edgePort: number, quietHost: string) {
    this.#bench = bench;
    this.#gangway = gangway;
    this.quietHost = quietHost;
    const url = `http://127.0.0.1:${String(edgePort)}`;
    // Who serves the edge is no child of ours; what is counted is the service.
    this.edge = { port: edgePort, url, pid: gangway.pid };
  }

  static async open(bench: Bench): Promise<Place> {
    const [dataDir, edgePort] = [bench.tempDir(), await freePort()];
    // The uids of apps walk through it, as through most places of a clone.
    chmodSync(dataDir, 0o711);
    const gangway = await bench.startGangway({
      GANGWAY_DATA_DIR: dataDir,
      GANGWAY_EDGE_PORT: String(edgePort),
      // Clients of another network than the quiet ones come to it.
      GANGWAY_EDGE_HOST: '0.0.0.0',
      GANGWAY_LOG_LEVEL: 'error',
    });
    const quiet = await createUploadApp(gangway, 'quiet');
    await deployFiles(bench, gangway, quiet, quietFiles);
    const place = new Place(bench, gangway, edgePort, await hostOf(gangway, quiet));
    const { createTeam } = await gangway.graphql<{ createTeam: { id: string } }>(
      'mutation { createTeam(name: "Hostile") { id } }',
    );
    // From here on all that is made is another tenant's.
    const { id } = createTeam;
    await gangway.graphql('mutation ($id: ID!) { switchTeam(teamId: $id) { id } }', { id });
    return place;
  }

  get panel(): Server {
    return this.#gangway;
  }

  async begin({ apps, builds, clients }: Attack): Promise<UnderWay> {
    const made: HostileApp[] = [];
    if (apps !== undefined) made.push(...(await this.#run(apps)));
    if (builds !== undefined) made.push(...(await this.#build(builds.count, builds.command)));
    if (clients === 'uploads') made.push(...(await this.#create(uploadsAtOnce)));
    for (const { host } of apps === undefined ? [] : made) await this.#ask(host, '/begin');
    return {
      clients: async (seconds) => {
        if (clients === 'uploads') await this.#upload(made, seconds);
        else if (clients !== undefined) await this.#pester(clients, made[0]?.host ?? '', seconds);
      },
      end: async () => {
        for (const { id } of made) await this.#remove(id);
        await new Promise((resolve) => setTimeout(resolve, this.#bench.pick(restMs, 0)));
      },
    };
  }

  async #create(count: number): Promise<HostileApp[]> {
    const made: HostileApp[] = [];
    for (let i = 0; i < count; i++) {
      const id = await createUploadApp(this.#gangway, `hostile ${String(i)}`);
      made.push({ id, host: await hostOf(this.#gangway, id) });
    }
    return made;
  }

  async #run({ count = 1, files, memoryMb }: HostileApps): Promise<HostileApp[]> {
    const made = await this.#create(count);
    for (const { id } of made) {
      if (memoryMb !== undefined) {
        await this.#gangway.graphql(
          'mutation ($id: ID!, $resources: ResourcesInput!) { updateApp(id: $id, resources: $resources) { id } }',
          { id, resources: { memoryMb } },
        );
      }
      await deployFiles(this.#bench, this.#gangway, id, files);
    }
    return made;
  }

  /** As many as may be build; the others wait. */
  async #build(count: number, buildCommand: string): Promise<HostileApp[]> {
    const made = await this.#create(count);
    for (const { id } of made) {
      await uploadFiles(this.#bench, this.#gangway, id, { Procfile: 'web: sleep 1000\n' });
      await this.#gangway.graphql(
        'mutation ($id: ID!, $build: BuildConfigInput!) { updateApp(id: $id, build: $build) { id } }',
        { id, build: { buildCommand } },
      );
      await this.#gangway.graphql('mutation ($id: ID!) { redeploy(appId: $id) { id } }', { id });
    }
    await untilStatus(this.#gangway, made[0]?.id ?? '', 'building');
    return made;
  }

  async #ask(host: string, path: string): Promise<void> {
    const { status, body } = await ask(this.edge.port, { path, headers: { host } });
    if (status !== 200) throw new Error(`an attack did not begin: ${status} ${body.toString()}`);
  }

  async #pester(kind: Nuisance['kind'], host: string, seconds: number): Promise<void> {
    const port = kind === 'sign-ins' ? this.panel.port : this.edge.port;
    const address = kind === 'sign-ins' ? '127.0.0.1' : ownAddress();
    const nuisance: Nuisance = {
      ...{ kind, address, port, host: host || this.quietHost, seconds },
      beside: !this.#bench.quick,
    };
    const { made } = await this.#bench.load<NuisanceResult>('bench/load/nuisance.ts', nuisance);
    if (made === 0) throw new Error(`no client came through with its ${kind}`);
  }

  async #upload(apps: readonly HostileApp[], forSeconds: number): Promise<void> {
    const { url, cookie } = this.#gangway;
    this.#archive ??= await randomTar(this.#bench, 16 * 2 ** 20);
    const { file } = this.#archive;
    const headers = { cookie, 'x-upload-filename': 'app.tar.gz' };
    const uploads: Uploads = {
      beside: !this.#bench.quick,
      forSeconds,
      uploads: apps.map(({ id }) => {
        return { url: `${url}/api/apps/${id}/upload`, method: 'POST', headers, file };
      }),
    };
    const { answers } = await this.#bench.load<UploadResult>('bench/load/upload.ts', uploads);
    const wrong = answers.find(({ status }) => status !== 200);
    if (wrong) throw new Error(`an upload was answered ${wrong.status} ${wrong.body}`);
  }

  async #remove(id: string): Promise<void> {
    await this.#gangway.graphql('mutation ($id: ID!) { deleteApp(id: $id) }', { id });
  }
}

async function hostOf(gangway: Gangway, id: string): Promise<string> {
  const query = 'query ($id: ID!) { app(id: $id) { url } }';
  const { app } = await gangway.graphql<{ app: { url: string } }>(query, { id });
  return new URL(app.url).host;
}

/** Of the machine itself, but not of loopback, where there is one: clients from there are others. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  return own?.address ?? '127.0.0.1';
}

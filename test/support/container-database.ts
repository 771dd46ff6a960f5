/** Owns a database server in a container of the tests, without a service, as backups and restores see it. */
import assert from 'node:assert/strict';
import { engines } from '../../src/actors/database/engines/engines.ts';
import type { Server } from '../../src/actors/database/engines/engine.ts';
import { ownVolumes, withVolumes } from '../../src/actors/workload/volumes.ts';
import { databaseRestorer } from '../../src/backups/restores/database-restorers.ts';
import { databaseSource } from '../../src/backups/sources/database-sources.ts';
import type { DatabaseTarget } from '../../src/backups/targets.ts';
import type { VolumeFolders } from '../../src/drivers/driver.ts';
import type { DatabaseEngine } from '../../src/store/records/records.ts';
import { collected, pieces } from './database-server.ts';
import { containerSpec, type DockerPlace } from './docker-place.ts';
import { until } from './driver-specs.ts';
import { connectToServer } from './machine.ts';

const never = new AbortController().signal;

export class ContainerDatabase {
  readonly server: Server;
  readonly owner: string;
  readonly #place: DockerPlace;
  readonly #kind: { engine: DatabaseEngine; image: string; version: string };
  #run: { volumes?: VolumeFolders; volumesBefore?: VolumeFolders } = {};
  #id = '';
  #runs = 0;

  private constructor(
    place: DockerPlace,
    kind: { engine: DatabaseEngine; image: string; version: string },
    port: number,
  ) {
    this.#place = place;
    this.#kind = kind;
    this.owner = `db_${kind.engine.toLowerCase()}`;
    const databaseName = kind.engine === 'REDIS' ? '' : 'shop';
    this.server = {
      ...{ databaseName, username: 'ann', password: "pa'ss", adminPassword: 'admin-secret' },
      ...{ host: '127.0.0.1', port, ownPort: engines[kind.engine].image.port, socket: null },
      connect: connectToServer,
      exec: ({ command, env }, signal) => {
        const spec = { command, env, timeoutMs: 30_000, maxBytes: 16_384 };
        return place.driver.exec(this.#id, spec, signal);
      },
    };
  }

  static async start(
    place: DockerPlace,
    kind: { engine: DatabaseEngine; image: string; version: string },
  ): Promise<ContainerDatabase> {
    const made = new ContainerDatabase(place, kind, await place.driver.freePort());
    await made.#start();
    return made;
  }

  /** Those that it has at the driver. */
  async volumes(): Promise<string[]> {
    return (await this.#place.driver.volumes?.of(this.owner)) ?? [];
  }

  async target(): Promise<DatabaseTarget> {
    const { engine, version } = this.#kind;
    const { driver } = this.#place;
    return {
      ...{ engine, version, ...this.server },
      ...{ tools: null, files: null, server: null, beside: null },
      ...{ folder: null, readFolder: null, elsewhere: null, connect: null },
      control: {
        start: () => this.#start(),
        stop: () => driver.remove(this.#id),
        replaced: () => Promise.resolve(),
      },
      pipe: (spec, input, signal) => driver.pipe(this.#id, spec, input, signal),
      volumes: await ownVolumes(
        driver,
        { id: this.owner, run: this.#run },
        {
          restoreId: `rst_${String(this.#runs)}`,
          use: (volumes, before) => {
            this.#run = withVolumes(this.#run, volumes, before);
            return Promise.resolve();
          },
        },
      ),
    };
  }

  async dumped(): Promise<Buffer> {
    return collected((await databaseSource(await this.target())).read(never));
  }

  async restore(ending: string, bytes: Buffer): Promise<void> {
    const artifact = { kind: '', ending, isOwn: true, bytes: bytes.length };
    const restorer = databaseRestorer(await this.target(), artifact);
    await restorer.restore(pieces(bytes, 65_536), () => undefined, never);
    assert.equal((await this.volumes()).length, 1);
  }

  async close(): Promise<void> {
    await this.#place.driver.remove(this.#id);
    await this.#place.driver.removeVolumesOf(this.owner);
  }

  async #start(): Promise<void> {
    const { driver } = this.#place;
    const { server, owner } = this;
    this.#id = `${owner}-${String(++this.#runs)}`;
    const { [this.#kind.engine]: engine } = engines;
    const { command, env } = engine.image.run(server, server);
    const name = this.#run.volumes?.['data'] ?? `${owner}-data`;
    const container = {
      ...{ image: this.#kind.image, port: engine.image.port, network: null, aliases: [] },
      volumes: [{ name, path: engine.image.volume }],
    };
    const own = { id: this.#id, owner, kind: 'service', port: server.port } as const;
    await driver.start({ ...containerSpec({ ...own, command, env, container }), workingDir: '' });
    await until('it answers', async () => {
      const state = (await driver.inspect(this.#id))?.state;
      if (state?.phase === 'waiting' || state?.phase === 'ended') throw new Error('it ended');
      if ((await driver.probe(this.#id)) !== 'listening') return false;
      return (await engine.check(server, never)).kind === 'well';
    });
    await engine.setUp(server, never);
  }
}

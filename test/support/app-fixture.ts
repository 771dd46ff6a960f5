/** App actors over a store in memory and a scripted driver, for tests of what apps do. */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appDefinition } from '../../src/actors/app/app-actor.ts';
import type { AppDeps, AppOptions } from '../../src/actors/app/deps.ts';
import { appDefaults } from '../../src/actors/app/deps.ts';
import { appActor } from '../../src/actors/app/protocol.ts';
import type { AppProtocol, NewApp } from '../../src/actors/app/protocol.ts';
import { remoteOf } from '../../src/actors/app/build/remote.ts';
import { remoteFlaw } from '../../src/git/fetching/remote-flaw.ts';
import { AddressPolicy } from '../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../src/lib/guarded-fetch.ts';
import { WorkloadWatch } from '../../src/actors/workload/watch.ts';
import { BuildQueue } from '../../src/actors/app/deploying/build-queue.ts';
import { edgeDefinition } from '../../src/actors/edge/edge-actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import type { LogStreams, StreamNotice } from '../../src/logs/live/log-streams.ts';
import { localPlace, type LocalMachineOptions } from '../../src/places/local-place.ts';
import type { Place } from '../../src/places/place.ts';
import { newId } from '../../src/lib/ids.ts';
import type { AppRecord, DeploymentRecord } from '../../src/store/records/records.ts';
import type { LogLine, LogName, LogReader, LogSource } from '../../src/logs/files/log.ts';
import { tables } from '../../src/store/records/tables.ts';
import { eventually } from './eventually.ts';
import { testMachine } from './machine.ts';
import { RestoreStandIns } from './restore-stand-ins.ts';
import { MemoryStore } from './memory-store.ts';
import { plainSecrets } from './plain-secrets.ts';
import { ScriptedDriver } from './scripted-driver.ts';
import type { ScriptedImages } from './scripted-images.ts';
import { recordingLogger } from './silent-logger.ts';
import { systemClock } from '../../src/lib/clock.ts';

const publicFetch = new GuardedFetch({ policy: new AddressPolicy({ privateNetworks: [] }) });

type Files = Record<string, string>;

export interface AppFixture {
  store: MemoryStore;
  driver: ScriptedDriver;
  streams: RecordedStreams;
  root: string;
  logger: ReturnType<typeof recordingLogger>;
  /** What the next extraction writes; a promise holds it up. */
  source: { files: Files; held: Promise<void> | null };
  restores: RestoreStandIns;
  runtime: () => ActorRuntime;
  /** Ends every actor as kill -9 does, and begins again over the same store and driver. */
  crash: () => Promise<void>;
  ask: <T extends keyof AppProtocol>(
    appId: string,
    message: { type: T } & AppProtocol[T]['in'],
  ) => Promise<AppProtocol[T]['out']>;
  create: (input?: Partial<NewApp>) => Promise<AppRecord>;
  /** An app with an upload. */
  uploaded: (input?: Partial<NewApp>) => Promise<AppRecord>;
  upload: (appId: string, blob: string) => Promise<AppRecord>;
  app: (appId: string) => Readonly<AppRecord>;
  deployment: (id: string) => Readonly<DeploymentRecord>;
  until: (deploymentId: string, status: DeploymentRecord['status']) => Promise<void>;
  releases: (appId: string) => string[];
  close: () => Promise<void>;
}

export interface FixtureOptions {
  options?: Partial<AppOptions>;
  /** What is said of the machine. */
  machine?: Partial<LocalMachineOptions>;
  /** What comes before the place. */
  before?: (place: Place) => Place;
  concurrency?: number;
  check?: AppDeps['check'];
  /** What is fetched by git; `source` says what it holds. */
  fetch?: AppDeps['git']['fetch'];
  /** Who may push; default everybody. */
  mayPush?: AppDeps['git']['mayPush'];
  /** What becomes of commits. */
  tellStatus?: AppDeps['git']['tellStatus'];
  /** Makes it a driver of containers. */
  images?: ScriptedImages;
  /** Other servers. */
  placeAt?: (serverId: string) => Place | undefined;
  /** Actors beyond which idle ones are passivated at once. */
  idleMax?: number;
}

export class RecordedStreams implements LogStreams {
  readonly text = new Map<LogName, string>();
  readonly notices: { log: LogName; notice: StreamNotice }[] = [];
  readonly ended: LogName[] = [];
  readonly dropped: LogName[] = [];

  /** Lines by the workload that wrote them. */
  readonly #lines = new Map<string, LogLine[]>();
  readonly #sources = new Map<string, number>();

  /** Each line as if it was written just now. */
  readonly reader: LogReader = {
    range: (log) => ({ generation: 'g', firstOffset: 0, nextOffset: this.#linesOf(log).length }),
    read: (log, from, limit) => {
      const lines = this.#linesOf(log).slice(from, from + limit);
      return { lines, gap: 0, nextOffset: from + lines.length };
    },
    offsetAt: () => 0,
    lastOf: (_log, sourceId, _beforeMs, count) => (this.#lines.get(sourceId) ?? []).slice(-count),
  };

  #linesOf(log: LogName): LogLine[] {
    const texts = (this.text.get(log) ?? '').split('\n').filter((line) => line !== '');
    return texts.map((text, offset) => ({
      offset,
      atMs: Date.now(),
      stream: 'stderr',
      bytes: Buffer.from(text),
    }));
  }

  async feed(
    log: LogName,
    driver: ScriptedDriver,
    workloadId: string,
    signal: AbortSignal,
  ): Promise<void> {
    await driver.follow(
      workloadId,
      0,
      (entries) => {
        for (const { bytes } of entries) this.write(log, Buffer.from(bytes).toString());
        const lines = entries.map(({ seq: offset, ...entry }) => ({ offset, ...entry }));
        this.#lines.set(workloadId, lines);
      },
      signal,
    );
  }

  write(log: LogName, text: string, source?: LogSource): void {
    if (source !== undefined) {
      if ((this.#sources.get(source.id) ?? 0) >= source.seq) return;
      this.#sources.set(source.id, source.seq);
    }
    this.text.set(log, (this.text.get(log) ?? '') + text);
  }

  copy(log: LogName, lines: readonly Omit<LogLine, 'offset'>[]): void {
    for (const { bytes, stream } of lines) {
      this.write(log, `${stream}: ${Buffer.from(bytes).toString()}`);
    }
  }

  notice(log: LogName, notice: StreamNotice): void {
    this.notices.push({ log, notice });
  }

  end(log: LogName): void {
    this.ended.push(log);
  }

  drop(log: LogName): Promise<void> {
    this.dropped.push(log);
    return Promise.resolve();
  }

  attach(): never {
    throw new Error('these streams are not watched');
  }
}

export async function appFixture(fixture: FixtureOptions = {}): Promise<AppFixture> {
  const root = await mkdtemp(join(tmpdir(), 'gangway-app-'));
  const store = new MemoryStore();
  const driver = new ScriptedDriver(fixture.images ?? null);
  const streams = new RecordedStreams();
  const logger = recordingLogger();
  const source: AppFixture['source'] = { files: { 'index.html': 'hi' }, held: null };
  // Keeps the process alive while only timers that do not are left.
  const alive = setInterval(() => undefined, 1000);
  const options: AppOptions = {
    ...appDefaults,
    uploadsRoot: join(root, 'uploads'),
    containers: {
      images: { node: 'node:22-slim', python: 'python:3-slim', go: 'golang:1', base: 'alpine:3' },
      isDefaultNode: true,
      staticServer: () => Promise.resolve('// serves files'),
    },
    hostOf: (slug) => `${slug}.test`,
    isPanelHost: (host) => host === 'panel.test',
    urlOf: ({ slug }) => `http://${slug}.test`,
    // Tests in which it is over say a shorter one.
    healthTimeoutMs: 60_000,
    drainMs: 0,
    ...fixture.options,
  };
  const restores = new RestoreStandIns();
  restores.root = join(root, 'restores');
  let life: { runtime: ActorRuntime; watch: WorkloadWatch };
  const begin = async (): Promise<void> => {
    const runtime = new ActorRuntime({
      store,
      clock: systemClock,
      logger,
      endingMs: 200,
      ...(fixture.idleMax !== undefined && { idleMax: fixture.idleMax }),
    });
    const machine = testMachine(join(root, 'apps'), {
      extractor: {
        extract: async (_archive, _format, into, options) => {
          const signal = options?.signal;
          signal?.throwIfAborted();
          const stopped = new Promise((resolve) => signal?.addEventListener('abort', resolve));
          await Promise.race([source.held, stopped]);
          signal?.throwIfAborted();
          for (const [name, text] of Object.entries(source.files)) {
            await mkdir(join(into, name, '..'), { recursive: true });
            await writeFile(join(into, name), text);
          }
          return { entries: 1, bytes: 1 };
        },
      },
      ...fixture.machine,
    });
    const here = localPlace(driver, machine);
    const place = fixture.before?.(here) ?? here;
    const deps: AppDeps = {
      reader: store,
      driver,
      place,
      streams,
      clock: systemClock,
      logger,
      options,
      restores,
      buildQueue: new BuildQueue({ concurrency: fixture.concurrency ?? 2, clock: systemClock }),
      secrets: plainSecrets,
      git: {
        fetch: fixture.fetch ?? (() => Promise.reject(new Error('nothing is fetched here'))),
        pushed: () => Promise.reject(new Error('nothing is pushed here')),
        forget: () => Promise.resolve(),
        remoteOf: (app) => remoteOf({ reader: store, secrets: plainSecrets, github }, app),
        flawOf: (url) => remoteFlaw(url, publicFetch),
        mayPush: fixture.mayPush ?? (() => Promise.resolve(true)),
        tellStatus: (app, deployment) => fixture.tellStatus?.(app, deployment),
      },
      check: fixture.check ?? (() => Promise.resolve(null)),
    };
    const depsAt = (serverId: string): AppDeps => {
      const other = fixture.placeAt?.(serverId);
      return other === undefined ? deps : { ...deps, place: other, driver: other.driver };
    };
    runtime.register(appDefinition(depsAt));
    const placeOf = (serverId: string): Place => fixture.placeAt?.(serverId) ?? place;
    runtime.register(edgeDefinition({ ...deps, placeOf, hostOf: options.hostOf }));
    runtime.start();
    const watch = new WorkloadWatch({ place, actors: runtime, reader: store, logger });
    life = { runtime, watch };
    await watch.start();
  };
  await begin();
  const self: AppFixture = {
    store,
    driver,
    streams,
    root,
    logger,
    source,
    restores,
    runtime: () => life.runtime,
    async crash() {
      life.watch.close();
      await life.runtime.close();
      await begin();
    },
    ask: (appId, message) => life.runtime.ask(appActor.at(appId), message),
    create: (input = {}) => {
      const app: NewApp = { ...newApp, ...input };
      return self.ask(newId('app'), { type: 'create', app });
    },
    async uploaded(input) {
      const { id } = await self.create(input);
      return self.upload(id, 'blob-1');
    },
    async upload(appId, blob) {
      const { dir, name } = await self.ask(appId, { type: 'upload-begin', uploadId: blob });
      await writeFile(join(dir, name), 'archive');
      const upload = {
        filename: 'app.tgz',
        sizeBytes: 7,
        sha256: '',
        format: 'tar.gz',
        uploadedAtMs: 1,
        blob,
      } as const;
      return self.ask(appId, { type: 'upload-commit', uploadId: blob, upload });
    },
    app: (appId) => present(store.get(tables.apps, appId)),
    deployment: (id) => present(store.get(tables.deployments, id)),
    until: (id, status) => eventually(status, () => self.deployment(id).status === status),
    releases: (appId) => readdirSync(join(root, 'apps', appId, 'releases')),
    async close() {
      life.watch.close();
      await life.runtime.close();
      await rm(root, { recursive: true, force: true });
      clearInterval(alive);
    },
  };
  return self;
}

const github = { token: () => Promise.resolve('a token of GitHub') };

const newApp: NewApp = {
  teamId: 'team_1',
  name: 'Web',
  source: 'UPLOAD',
  folderId: null,
  serverId: null,
  git: null,
  image: null,
  compose: null,
  build: {},
  resources: {},
  env: [],
};

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('no such record');
  return value;
}

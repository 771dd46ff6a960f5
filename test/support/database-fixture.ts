/** Database actors over a store in memory and a scripted driver, for tests of what databases do. */
import type { SecretBox } from '../../src/actors/workload/deps.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkloadWatch } from '../../src/actors/workload/watch.ts';
import { databaseDefinition } from '../../src/actors/database/database-actor.ts';
import { databaseDefaults } from '../../src/actors/database/deps.ts';
import type { Engine, Server, Wellness } from '../../src/actors/database/engines/engine.ts';
import { engines } from '../../src/actors/database/engines/engines.ts';
import { databaseActor } from '../../src/actors/database/protocol.ts';
import type { DatabaseProtocol, NewDatabase } from '../../src/actors/database/protocol.ts';
import { edgeDefinition } from '../../src/actors/edge/edge-actor.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { localPlace } from '../../src/places/local-place.ts';
import { newId } from '../../src/lib/ids.ts';
import type { DatabaseRecord } from '../../src/store/records/records.ts';
import { tables } from '../../src/store/records/tables.ts';
import { RecordedStreams } from './app-fixture.ts';
import { eventually } from './eventually.ts';
import { testMachine } from './machine.ts';
import { RestoreStandIns } from './restore-stand-ins.ts';
import { MemoryStore } from './memory-store.ts';
import { plainSecrets } from './plain-secrets.ts';
import { ScriptedDriver } from './scripted-driver.ts';
import type { ScriptedImages } from './scripted-images.ts';
import { recordingLogger } from './silent-logger.ts';

export class DatabaseFixture {
  readonly store = new MemoryStore();
  readonly driver: ScriptedDriver;
  readonly streams = new RecordedStreams();
  readonly logger = recordingLogger();
  readonly restores = new RestoreStandIns();
  readonly secrets: SecretBox = {
    seal: (plain, context) => Buffer.from(`${context}|${plain}`),
    open: (sealed, context) => {
      const text = Buffer.from(sealed).toString();
      if (!text.startsWith(`${context}|`)) throw new Error('sealed for another place');
      return text.slice(context.length + 1);
    },
  };
  /** What a server says of itself, and what it was told. */
  wellness: Wellness = { kind: 'well' };
  looks = 0;
  /** For how long it is waited until a server answers; read when it begins. */
  patienceMs = 60_000;
  /** Holds up what it says. */
  held: Promise<void> | null = null;
  readonly setUps: Server[] = [];
  /** The passwords it was given; a function that throws PasswordRefused has the one before. */
  takePassword: (password: string, signal: AbortSignal) => void | Promise<void> = () => undefined;
  root = '';
  #life: { runtime: ActorRuntime; watch: WorkloadWatch } | null = null;
  // Keeps the process alive while only timers that do not are left.
  readonly #alive = setInterval(() => undefined, 1000);

  constructor(images: ScriptedImages | null = null) {
    this.driver = new ScriptedDriver(images);
  }

  async open(): Promise<this> {
    this.root = await mkdtemp(join(tmpdir(), 'gangway-database-'));
    this.restores.root = join(this.root, 'restores');
    await this.#begin();
    return this;
  }

  /** Ends every actor as kill -9 does, and begins again over the same store and driver. */
  async crash(): Promise<void> {
    await this.#end();
    await this.#begin();
  }

  async close(): Promise<void> {
    await this.#end();
    await rm(this.root, { recursive: true, force: true });
    clearInterval(this.#alive);
  }

  ask<T extends keyof DatabaseProtocol>(
    id: string,
    message: { type: T } & DatabaseProtocol[T]['in'],
  ): Promise<DatabaseProtocol[T]['out']> {
    if (this.#life === null) throw new Error('it is not open');
    return this.#life.runtime.ask(databaseActor.at(id), message);
  }

  async create(input: Partial<NewDatabase> = {}): Promise<string> {
    const database = { ...newDatabase, ...input };
    return (await this.ask(newId('db'), { type: 'create', database })).id;
  }

  record(id: string): Readonly<DatabaseRecord> {
    const record = this.store.get(tables.databases, id);
    if (record === undefined) throw new Error('no such database');
    return record;
  }

  until(id: string, status: DatabaseRecord['status']): Promise<void> {
    return eventually(status, () => this.record(id).status === status);
  }

  async #begin(): Promise<void> {
    const { store, driver, streams, logger } = this;
    const runtime = new ActorRuntime({ store, clock: systemClock, logger, endingMs: 200 });
    const common = { reader: store, restores: this.restores, driver, clock: systemClock, logger };
    const place = localPlace(driver, testMachine(this.root));
    const ofEdge = { placeOf: () => place, secrets: plainSecrets };
    runtime.register(edgeDefinition({ ...common, ...ofEdge, hostOf: (slug) => slug }));
    runtime.register(
      databaseDefinition(() => ({
        ...common,
        place,
        streams,
        engines: {
          ...engines,
          POSTGRES: this.#scripted(engines.POSTGRES),
          MONGODB: this.#scripted(engines.MONGODB),
        },
        secrets: this.secrets,
        options: {
          ...databaseDefaults,
          images: { REDIS: 'mirror.example/redis:{version}' },
          healthTimeoutMs: this.patienceMs,
          settleTimeoutMs: this.patienceMs,
        },
      })),
    );
    runtime.start();
    const watch = new WorkloadWatch({ place, actors: runtime, reader: store, logger });
    this.#life = { runtime, watch };
    await watch.start();
  }

  async #end(): Promise<void> {
    this.#life?.watch.close();
    await this.#life?.runtime.close();
    this.#life = null;
  }

  /** An engine whose servers are this fixture. */
  #scripted(engine: Engine): Engine {
    return {
      ...engine,
      check: async () => {
        this.looks += 1;
        await this.held;
        return this.wellness;
      },
      setUp: (server) => {
        this.setUps.push(server);
        return Promise.resolve();
      },
      setPassword: async (_server, password, signal) => {
        await this.takePassword(password, signal);
      },
    };
  }
}

const newDatabase: NewDatabase = {
  teamId: 'team_1',
  name: 'Data',
  engine: 'POSTGRES',
  version: null,
  folderId: null,
  serverId: null,
  resources: {},
  databaseName: null,
  username: null,
  password: null,
};

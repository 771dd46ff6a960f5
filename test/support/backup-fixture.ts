/** Backups of a target over a store in memory, a destination in memory and a scripted source. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { backupsDefinition } from '../../src/actors/backup/backups-actor.ts';
import { type BackupOptions, backupDefaults } from '../../src/actors/backup/deps.ts';
import { backupsActor, type BackupsProtocol } from '../../src/actors/backup/protocol.ts';
import { wakeBackups } from '../../src/actors/backup/wake.ts';
import { ActorRuntime } from '../../src/actors/runtime/runtime.ts';
import type {
  ByteRange,
  Destination,
  ObjectWriter,
  StoredObject,
} from '../../src/backups/destinations/destination.ts';
import { verifyArtifact, writeArtifact } from '../../src/backups/runs/artifact.ts';
import { RunTurns } from '../../src/backups/runs/run-turns.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import type { BackupRunRecord, BackupScheduleRecord } from '../../src/store/records/records.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { eventually } from './eventually.ts';
import { ManualClock, settle } from './manual-clock.ts';
import { MemoryStore } from './memory-store.ts';
import { recordingLogger } from './silent-logger.ts';

export type Stage = 'open' | 'write' | 'finish' | 'abort' | 'read' | 'reading' | 'remove' | 'sweep';

/** Keeps objects in memory, and does at each stage what a test says. */
export class MemoryDestination implements Destination {
  readonly objects = new Map<string, Buffer>();
  /** What was begun and neither finished nor aborted. */
  readonly parts = new Set<string>();
  /** Called before each step; it may throw, wait, or change things. */
  onStage: (stage: Stage, key: string, signal?: AbortSignal) => unknown = () => undefined;

  get isEmpty(): boolean {
    return this.objects.size === 0 && this.parts.size === 0;
  }

  async open(key: string, signal: AbortSignal): Promise<ObjectWriter> {
    await this.onStage('open', key, signal);
    const chunks: Uint8Array[] = [];
    this.parts.add(key);
    return {
      write: async (chunk) => {
        await this.onStage('write', key, signal);
        chunks.push(chunk.slice());
      },
      finish: async () => {
        await this.onStage('finish', key, signal);
        this.parts.delete(key);
        this.objects.set(key, Buffer.concat(chunks));
      },
      abort: async () => {
        await this.onStage('abort', key, signal);
        this.parts.delete(key);
      },
    };
  }

  async read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<StoredObject> {
    await this.onStage('read', key, signal);
    const bytes = this.objects.get(key);
    if (bytes === undefined) throw new ServiceError('ARTIFACT_GONE', 'It is not there.');
    const part = bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length - 1) + 1);
    const { onStage } = this;
    async function* stream(): AsyncGenerator<Uint8Array> {
      await onStage('reading', key, signal);
      for (let at = 0; at < part.length; at += 7) yield part.subarray(at, at + 7);
    }
    return { bytes: bytes.length, stream: stream() };
  }

  async remove(key: string): Promise<void> {
    await this.onStage('remove', key);
    this.objects.delete(key);
  }

  async sweep(isWriting: (key: string) => boolean): Promise<void> {
    await this.onStage('sweep', '');
    for (const key of this.parts) if (!isWriting(key)) this.parts.delete(key);
  }
}

export const targetId = 'db_one';
export const destinationId = 'dst_one';

export class BackupFixture {
  readonly clock = new ManualClock();
  readonly store = new MemoryStore();
  readonly logger = recordingLogger();
  readonly destination = new MemoryDestination();
  /** Of the destination; null: it does not encrypt. */
  recipient: string | null = null;
  /** What the source gives; it may throw, or wait for ever. */
  dump: (signal: AbortSignal) => AsyncIterable<Uint8Array> = once('some rows');
  turns = new RunTurns(2);
  readonly #options: Partial<BackupOptions>;
  #runtime: ActorRuntime | null = null;
  #isGone = false;

  constructor(options: Partial<BackupOptions> = {}) {
    this.#options = options;
    for (const [id, teamId] of [
      [targetId, 'team_one'],
      ['db_two', 'team_one'],
      ['db_other', 'team_other'],
    ] as const) {
      const database = { id, teamId, name: 'Shop: live!', uid: 0, deletedAtMs: null };
      this.store.write([put(tables.databases, database as never)]);
    }
    this.begin();
  }

  begin(): void {
    const { store, clock, logger, destination } = this;
    const runtime = new ActorRuntime({ store, clock, logger, endingMs: 1 });
    runtime.register(
      backupsDefinition({
        ...{ reader: store, clock, logger, turns: this.turns, writing: new Set() },
        teamOfDestination: (id) => (id === destinationId && !this.#isGone ? 'team_one' : null),
        openDestination: () => ({
          destination,
          encrypts: this.recipient !== null,
          write: async (dump, writing) => ({
            ...(await writeArtifact(packed(dump), { ...writing, destination })),
            dumpSha256: null,
          }),
          verify: (artifact, transport) => verifyArtifact(artifact, { ...transport, destination }),
        }),
        sourceOf: ({ kind }) =>
          Promise.resolve({
            kind: kind === 'instance' ? kind : 'postgresql',
            ending: 'dump',
            read: (signal) => this.dump(signal),
          }),
        options: { ...backupDefaults, deadlineMs: 3_600_000, jitterMs: 0, ...this.#options },
      }),
    );
    runtime.start();
    this.#runtime = runtime;
    wakeBackups({ reader: store, clock, actors: runtime });
  }

  /** As kill -9: what was under way stops where it is, and nobody is told. */
  async crash(): Promise<void> {
    const { onStage } = this.destination;
    const { promise: never } = Promise.withResolvers<undefined>();
    this.destination.onStage = () => never;
    this.dump = () => hanging();
    const closing = this.#runtime?.close();
    await this.clock.advance(10);
    await closing;
    this.destination.onStage = onStage;
    this.turns = new RunTurns(2);
  }

  /** Nobody knows the destination any more. */
  forgetDestination(): void {
    this.#isGone = true;
  }

  async close(): Promise<void> {
    const closing = this.#runtime?.close();
    await this.clock.advance(10);
    await closing;
  }

  ask<T extends keyof BackupsProtocol>(
    message: { type: T } & BackupsProtocol[T]['in'],
    id = targetId,
  ): Promise<BackupsProtocol[T]['out']> {
    if (this.#runtime === null) throw new Error('it has not begun');
    return this.#runtime.ask(backupsActor.at(id), message);
  }

  run(id = targetId): Promise<BackupRunRecord> {
    return this.ask({ type: 'run', destinationId }, id);
  }

  schedule(cron: string, keep = 7, timezone = 'UTC'): Promise<BackupScheduleRecord> {
    return this.ask({ type: 'schedule-create', schedule: { destinationId, cron, timezone, keep } });
  }

  runs(): Readonly<BackupRunRecord>[] {
    return this.store.list(tables.backupRuns, 'target', [targetId]);
  }

  stored(id: string): Readonly<BackupRunRecord> {
    const run = this.store.get(tables.backupRuns, id);
    if (run === undefined) throw new Error('no such run');
    return run;
  }

  async until(id: string, status: BackupRunRecord['status']): Promise<Readonly<BackupRunRecord>> {
    await eventually(status, () => this.stored(id).status === status);
    await settle();
    return this.stored(id);
  }
}

async function* packed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of bytes) all.push(chunk);
  const artifact = gzipSync(Buffer.concat(all));
  for (let at = 0; at < artifact.length; at += 10) yield artifact.subarray(at, at + 10);
}

export function once(text: string) {
  return async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
    await Promise.resolve();
  };
}

/** Gives something, and then nothing for ever, whatever its signal says. */
export async function* hanging(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('a part of');
  await new Promise(() => undefined);
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

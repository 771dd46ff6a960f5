/** Owns what all backups of the instance are made with: turns, threads that compress, ways to destinations. */
import { type BackupDeps, backupDefaults, type OpenDestination } from '../actors/backup/deps.ts';
import { wakeBackups, wakeSchedules } from '../actors/backup/wake.ts';
import { placeOf } from '../actors/destination/place.ts';
import type { Actors } from '../actors/runtime/actor.ts';
import { openDestination, type PlaceInThread } from '../backups/destinations/open.ts';
import { Packer } from '../backups/packing/packer.ts';
import { verifyArtifact } from '../backups/runs/artifact.ts';
import { RunTurns } from '../backups/runs/run-turns.ts';
import { verifyInThread } from '../backups/threads/verify-thread.ts';
import type { Config } from '../config.ts';
import { type Clock, every } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { GuardedFetch } from '../lib/guarded-fetch.ts';
import type { Logger } from '../lib/log.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import { tables } from '../store/records/tables.ts';
import type { SecretBox } from '../store/secrets.ts';

/** To verify less takes less than a thread takes to start. */
const threadMinBytes = 4 * 2 ** 20;
/** Between two looks at whether the clock was set back. */
const lookEveryMs = 60_000;

export interface BackupPartsOptions {
  config: Pick<
    Config,
    'dataDir' | 'backupRoots' | 'backupConcurrency' | 'backupTimeoutMinutes' | 'backupJitterSeconds'
  >;
  reader: Reader;
  clock: Clock;
  logger: Logger;
  secrets: SecretBox;
  fetch: GuardedFetch;
}

export class BackupParts {
  readonly deps: Omit<BackupDeps, 'sourceOf'>;
  /** The keys that runs are writing. */
  readonly writing = new Set<string>();
  readonly #options: BackupPartsOptions;
  readonly #packer: Packer;
  #endLooks = (): void => undefined;

  constructor(options: BackupPartsOptions) {
    const { config, reader, clock, logger } = options;
    this.#options = options;
    this.#packer = new Packer({ logger, clock });
    this.deps = {
      ...{ reader, clock, logger, writing: this.writing },
      teamOfDestination: (id) => reader.get(tables.destinations, id)?.teamId ?? null,
      openDestination: (id) => this.#open(id),
      turns: new RunTurns(config.backupConcurrency),
      options: {
        ...backupDefaults,
        deadlineMs: config.backupTimeoutMinutes * 60_000,
        jitterMs: config.backupJitterSeconds * 1000,
      },
    };
  }

  /** Takes up what an earlier process left, and from now on what a clock that is set back leaves waiting. */
  start(actors: Pick<Actors, 'tell'>): void {
    const { reader, clock, logger } = this.#options;
    wakeBackups({ reader, clock, actors });
    let seenMs = clock.now();
    this.#endLooks = every(clock, lookEveryMs, () => {
      const nowMs = clock.now();
      try {
        if (nowMs < seenMs) wakeSchedules({ reader, clock, actors });
        seenMs = nowMs;
      } catch (err) {
        // A mailbox is full: the next look tells it again.
        logger.warn({ err }, 'schedules_not_planned');
      }
    });
  }

  close(): Promise<void> {
    this.#endLooks();
    return this.#packer.close();
  }

  #open(id: string): OpenDestination {
    const { reader, config, secrets, fetch } = this.#options;
    const record = reader.get(tables.destinations, id);
    if (record === undefined) throw new ServiceError('NOT_FOUND', 'No such destination.');
    const place = placeOf(record, config, secrets);
    const destination = openDestination(place, { fetch });
    const recipient = record.encryption?.recipient ?? null;
    const at = (): PlaceInThread => ({ place, rules: fetch.rules });
    return {
      destination,
      encrypts: recipient !== null,
      write: (dump, { hashesDump, ...writing }) =>
        this.#packer.pack(dump, { ...at(), recipient, hashesDump }, writing),
      verify: (artifact, transport) =>
        artifact.sizeBytes >= threadMinBytes
          ? verifyInThread(artifact, at(), transport)
          : verifyArtifact(artifact, { ...transport, destination }),
    };
  }
}

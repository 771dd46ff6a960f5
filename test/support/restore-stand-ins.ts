/** What restores are given in tests of other things: artifacts are gzip, and their data goes into a list. */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { RestoreDeps } from '../../src/actors/restore/deps.ts';
import type { RestoreOf } from '../../src/backups/restores/restorer-of.ts';
import type { StoredObject } from '../../src/backups/destinations/destination.ts';
import { fetchArtifact } from '../../src/backups/restores/fetched.ts';
import { checkArtifact } from '../../src/backups/restores/artifact-check.ts';
import { RunTurns } from '../../src/backups/runs/run-turns.ts';
import type { ArtifactFile } from '../../src/backups/threads/messages.ts';
import { ServiceError } from '../../src/lib/errors.ts';

export class RestoreStandIns implements RestoreDeps {
  root = '';
  /** What was restored, and into what. */
  readonly restored: { of: RestoreOf; text: string }[] = [];
  /** The recoveryKeys that artifacts were opened with. */
  readonly recoveryKeys: (string | null)[] = [];
  /** What lies at destinations, by its key. */
  readonly objects = new Map<string, Buffer>();
  /** Runs before the data is taken; may throw, wait, or use the control. */
  onRestore: (of: RestoreOf, log: (line: string) => void, signal: AbortSignal) => unknown = () =>
    undefined;
  recover: RestoreDeps['recover'] = () => Promise.resolve(null);

  /** Bytes that an artifact may unpack to. */
  room: RestoreDeps['room'] = () => Infinity;

  readonly turns = new RunTurns(2);

  deadlineMs = 3_600_000;

  readonly check: RestoreDeps['check'] = (artifact, wanted, seen) => {
    seen(1);
    return checkArtifact(this.read(artifact), wanted);
  };

  readonly read = ({ path, recoveryKey }: ArtifactFile): AsyncGenerator<Uint8Array> => {
    this.recoveryKeys.push(recoveryKey);
    const gunzip = createGunzip();
    const source = createReadStream(path);
    source.on('error', (error) => gunzip.destroy(error));
    gunzip.on('error', () => source.destroy());
    return refused(source.pipe(gunzip));
  };

  openPlace: RestoreDeps['openPlace'] = () => ({
    recoveryKey: null,
    fetch: (artifact, path, seen, signal) =>
      fetchArtifact(artifact, { read: (key) => this.readObject(key) }, path, seen, signal),
  });

  readObject = (key: string): Promise<StoredObject> => {
    const bytes = this.objects.get(key);
    if (bytes === undefined) throw new ServiceError('ARTIFACT_GONE', 'It is gone.');
    return Promise.resolve({ bytes: bytes.length, stream: Readable.from([bytes]) });
  };

  readonly restorerOf: RestoreDeps['restorerOf'] = (of) => ({
    restore: async (bytes, log, signal) => {
      await this.onRestore(of, log, signal);
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      this.restored.push({ of, text: Buffer.concat(chunks).toString('latin1') });
    },
  });
}

async function* refused(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (cause) {
    throw new ServiceError('ARCHIVE_CORRUPT', 'The archive cannot be read.', { cause });
  }
}

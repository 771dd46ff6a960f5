/** What restores are given in tests of other things: artifacts are gzip, and their data goes into a list. */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { RestoreDeps } from '../../src/actors/restore/deps.ts';
import type { RestoreOf } from '../../src/backups/restores/restorer-of.ts';
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

  readonly unpack: RestoreDeps['unpack'] = (artifact, recoveryKey) => {
    this.recoveryKeys.push(recoveryKey);
    const gunzip = createGunzip();
    const source = Readable.from(artifact);
    source.on('error', (error) => gunzip.destroy(error));
    gunzip.on('error', () => source.destroy());
    return refused(source.pipe(gunzip));
  };

  readonly openPlace: RestoreDeps['openPlace'] = () => ({
    recoveryKey: null,
    destination: {
      read: (key) => {
        const bytes = this.objects.get(key);
        if (bytes === undefined) throw new ServiceError('ARTIFACT_GONE', 'It is gone.');
        return Promise.resolve({ bytes: bytes.length, stream: Readable.from([bytes]) });
      },
    },
  });

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

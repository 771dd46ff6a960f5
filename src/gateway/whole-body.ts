/** Owns the gathering of a short body: one buffer out of chunks. */
import type { ServiceError } from '../lib/errors.ts';
import type { BodySink } from './contract.ts';

/** A sink that settles with the whole body; after an abort it never does. */
export function wholeBody(
  resolve: (body: Buffer) => void,
  reject: (reason: ServiceError) => void,
): BodySink {
  const chunks: Buffer[] = [];
  return {
    chunk(bytes) {
      chunks.push(Buffer.from(bytes));
      return true;
    },
    end() {
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks));
    },
    fail(reason) {
      if (reason !== 'aborted') reject(reason);
    },
  };
}

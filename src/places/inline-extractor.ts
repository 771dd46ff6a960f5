/** Owns unpacking without threads, for a process that has nothing else to do with its time. */
import { extractArchive } from '../archives/extracting/extract.ts';
import { archiveLimits } from '../archives/formats/limits.ts';
import { asFailure, fromFailure } from '../workers/task-failure.ts';
import type { Extractor } from './app-folders.ts';

export const inlineExtractor: Extractor = {
  extract: async (archive, format, into, options) => {
    const { uid = null, keepsSoleFolder = false, signal } = options ?? {};
    signal?.throwIfAborted();
    const canceled = new SharedArrayBuffer(4);
    const cancel = (): void => void Atomics.store(new Int32Array(canceled), 0, 1);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const how = { uid, keepsSoleFolder, canceled, limits: archiveLimits };
      return await extractArchive({ archive, format, into, ...how });
    } catch (error) {
      signal?.throwIfAborted();
      throw fromFailure(asFailure(error));
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  },
};

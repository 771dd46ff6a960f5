/**
 * A thread that follows the journal, and tells on request what its subscriber heard. Messages: `wake`
 * and `catch-up` do so; `hang` stands still until the writer's thread says so, `readUntil` in the
 * middle of a stretch, in which it catches up then; `report` answers what was heard since the last
 * one; `close` ends it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { JournalEntry } from '../../src/store/reader-and-journal.ts';
import { openFollowingStore } from '../../src/store/reading/following-store.ts';
import type { FollowerOptions } from '../../src/store/store.ts';
import { memoryLogger } from './memory-logger.ts';
import { modelTables } from './model-store.ts';

export type ToFollower =
  | 'wake'
  | 'catch-up'
  | 'read'
  | 'report'
  | 'close'
  | { hang: SharedArrayBuffer }
  | { readUntil: SharedArrayBuffer };
export interface FollowerReport {
  entries: JournalEntry[];
  /** Entries that were told before reads of this thread saw them. */
  early: number;
  position: number;
  lost: string | null;
  /** What the last `catch-up` threw. */
  failure: string | null;
}

let entries: JournalEntry[] = [];
let early = 0;
let lost: string | null = null;
let failure: string | null = null;
const store = openFollowingStore(workerData as FollowerOptions, {
  logger: memoryLogger(),
  onLost: (error) => {
    lost = error.message;
  },
  tables: modelTables,
});
store.subscribe((entry) => {
  entries.push(entry);
  if (store.position < entry.position) early++;
});

function attempt(act: () => unknown): void {
  try {
    act();
    failure = null;
  } catch (error) {
    failure = String(error);
  }
}

async function readUntil(shared: SharedArrayBuffer): Promise<void> {
  const positions = [store.position];
  parentPort?.postMessage('reading');
  Atomics.wait(new Int32Array(shared), 0, 0);
  store.catchUp();
  positions.push(store.position);
  const told = [entries.length];
  await new Promise(setImmediate);
  told.push(entries.length);
  parentPort?.postMessage({ positions, told });
}

parentPort?.on('message', (message: ToFollower) => {
  if (typeof message === 'object') {
    if ('hang' in message) Atomics.wait(new Int32Array(message.hang), 0, 0);
    else void readUntil(message.readUntil);
    return;
  }
  switch (message) {
    case 'wake':
      attempt(() => store.wake());
      return;
    case 'catch-up':
      attempt(() => store.catchUp());
      return;
    case 'read':
      store.get(modelTables.things, 'a');
      return;
    case 'report': {
      const report: FollowerReport = { entries, early, position: store.position, lost, failure };
      entries = [];
      parentPort?.postMessage(report);
      return;
    }
    case 'close':
      void store.close().then(() => parentPort?.close());
  }
});
parentPort?.postMessage('ready');

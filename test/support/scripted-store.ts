/**
 * A store in memory whose commits settle when the test says so: what the runtime needs of a store,
 * with every failure at hand. The real store has its own tests and is used everywhere else.
 */
import type { RuntimeStore } from '../../src/actors/runtime/runtime.ts';
import type { CommitRequest, JournalEntry } from '../../src/store/reader-and-journal.ts';
import { copyOf, MemoryStore } from './memory-store.ts';

interface Pending {
  request: CommitRequest;
  resolve: (position: number) => void;
  reject: (error: unknown) => void;
}

export class ScriptedStore extends MemoryStore implements RuntimeStore {
  /** Commits wait for `release` or `fail` instead of settling by themselves. */
  held = false;
  readonly entries: JournalEntry[] = [];
  readonly pending: Pending[] = [];

  override commit(request: CommitRequest): Promise<number> {
    const kept = { ...request, changes: copyOf(request.changes) };
    return new Promise((resolve, reject) => {
      this.pending.push({ request: kept, resolve, reject });
      if (!this.held)
        setImmediate(() => {
          this.release();
        });
    });
  }

  override write(...entry: Parameters<MemoryStore['write']>): number {
    const position = super.write(...entry);
    const [changes, actor = 'test:1', epoch = 1] = entry;
    this.entries.push({ changes, actor, epoch, position, atMs: 0 });
    return position;
  }

  /** Makes everything that waits durable, as one group. */
  release(): void {
    for (const { request, resolve, reject } of this.pending.splice(0)) {
      try {
        resolve(this.write(request.changes, request.actor, request.epoch));
      } catch (error) {
        reject(error);
      }
    }
  }

  /** Fails everything that waits, as one group. */
  fail(error: unknown): void {
    for (const { reject } of this.pending.splice(0)) reject(error);
  }
}

/** Owns telling of all apps: those that are there, and each that changes from then on. */
import type { JournalEntry, Reader } from '../reader-and-journal.ts';
import type { AppRecord } from '../records/records.ts';
import { tables } from '../records/tables.ts';

export interface AppsStore extends Pick<Reader, 'scan'> {
  subscribe(listener: (entry: JournalEntry) => void): () => void;
}

export interface AppsListener {
  /** It is there, or another than before; may be told twice. */
  see: (app: Readonly<AppRecord>) => void;
  gone: (appId: string) => void;
}

/** After this many apps the walk over all of them lets other work run. */
const walkStep = 200;

export class FollowedApps {
  readonly #store: AppsStore;
  readonly #listener: AppsListener;
  #unsubscribe: () => void = () => undefined;
  #isClosed = false;

  constructor(store: AppsStore, listener: AppsListener) {
    this.#store = store;
    this.#listener = listener;
  }

  /** Resolves once all that are there were told. */
  async start(): Promise<void> {
    const { see, gone } = this.#listener;
    this.#unsubscribe = this.#store.subscribe(({ changes }) => {
      for (const change of changes) {
        if (change.table !== tables.apps.name) continue;
        if (change.op === 'put' || change.op === 'insert') see(change.value as AppRecord);
        else gone(String(change.key));
      }
    });
    let walked = 0;
    for (const app of this.#store.scan(tables.apps)) {
      if (++walked % walkStep === 0) await new Promise(setImmediate);
      if (this.#isClosed) return;
      see(app);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
  }
}

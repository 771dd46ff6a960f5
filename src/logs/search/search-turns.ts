/** Owns the searches of a thread: they take turns, a step each, so that none waits for another to end. */
import { asFailure } from '../../workers/task-failure.ts';
import type { LogFiles } from '../files/reader.ts';
import type { FromSearchThread } from './messages.ts';
import { type LogSearch, RunningSearch, type SearchBounds } from './search.ts';

export interface SearchTurnsOptions {
  files: LogFiles;
  bounds: SearchBounds;
  tell: (message: FromSearchThread) => void;
}

export class SearchTurns {
  readonly #options: SearchTurnsOptions;
  readonly #running = new Map<number, RunningSearch>();
  #isAwake = false;

  constructor(options: SearchTurnsOptions) {
    this.#options = options;
  }

  start(id: number, search: LogSearch): void {
    const { files, bounds } = this.#options;
    this.#during(id, () => this.#running.set(id, new RunningSearch(files, search, bounds)));
    this.#wake();
  }

  /** Nobody waits for it any more. */
  stop(id: number): void {
    this.#running.delete(id);
  }

  #wake(): void {
    if (this.#isAwake || this.#running.size === 0) return;
    this.#isAwake = true;
    // Between two turns it is heard which searches nobody waits for.
    setImmediate(() => {
      this.#isAwake = false;
      this.#turn();
      this.#wake();
    });
  }

  #turn(): void {
    for (const [id, search] of this.#running) {
      // The next turn is that of another one.
      this.#running.delete(id);
      this.#during(id, () => {
        const result = search.step();
        if (result === null) this.#running.set(id, search);
        else this.#options.tell({ type: 'done', id, result });
      });
      return;
    }
  }

  #during(id: number, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#running.delete(id);
      this.#options.tell({ type: 'failed', id, failure: asFailure(error) });
    }
  }
}

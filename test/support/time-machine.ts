/** Owns the time of a service under test: how it is told to jump, and that it did. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { GangwayOptions } from './gangway.ts';
import { until } from './gangway.ts';

const preload = fileURLToPath(new URL('./time-travel.ts', import.meta.url));
export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

interface Dispatcher {
  close(): Promise<void>;
}

/** Where `fetch` looks up who keeps its connections. */
const dispatcherKey = Symbol.for('undici.globalDispatcher.1');

/** What is under way goes on; then its connection is closed, as those are that wait for a request. */
function forgetConnections(): void {
  const place = globalThis as { [dispatcherKey]?: Dispatcher };
  const before = place[dispatcherKey];
  // Nothing was asked so far.
  if (before === undefined) return;
  place[dispatcherKey] = new (before.constructor as new () => Dispatcher)();
  void before.close();
}

export class TimeMachine {
  readonly #file: string;
  #offsetMs = 0;

  /** `file`: one that is not there yet, in a folder that is. */
  constructor(file: string) {
    this.#file = file;
  }

  /** What a service travels with. Gateway threads see a jump a moment later than the main thread. */
  options(env: Record<string, string> = {}): Required<Pick<GangwayOptions, 'env' | 'nodeArgs'>> {
    return {
      env: { ...env, TIME_TRAVEL_FILE: this.#file },
      nodeArgs: ['--import', preload],
    };
  }

  /**
   * Resolves once the service has let go off what it leapt over. What it closes meanwhile is not asked
   * again: requests of this process go over new connections from here on.
   */
  async jump(ms: number): Promise<void> {
    this.#offsetMs += ms;
    const wanted = String(this.#offsetMs);
    // As a whole: it is read at any time.
    writeFileSync(`${this.#file}.new`, wanted);
    renameSync(`${this.#file}.new`, this.#file);
    await until('the jump is seen', 10_000, () => {
      try {
        return readFileSync(`${this.#file}.seen`, 'utf8') === wanted;
      } catch {
        return false; // Not there before the first jump.
      }
    });
    forgetConnections();
  }

  /** What the service takes for now. */
  now(): number {
    return Date.now() + this.#offsetMs;
  }
}

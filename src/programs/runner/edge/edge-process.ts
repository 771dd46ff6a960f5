/**
 * Owns one process of the edge: its start, its orders, its end.
 *
 * 1. An order is carried out or the process is gone: one that does not say so in time is ended.
 * 2. It reads what strangers send, so it is believed nothing: what it asks is checked, and is no more than whether
 *    a workload may be reached.
 * 3. It ends with this process.
 */
import { type ChildProcess, type SendHandle, spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import type {
  EdgeNews,
  EdgeOrder,
  EdgeQuestion,
  FromRunner,
  Target,
  Tenants,
} from '../../../protocol/edge-messages.ts';
import { type Clock, every, whenLate } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { findTools } from '../system-tools.ts';

export interface EdgeEvents {
  /** What it tells unasked, of which only the outermost form is checked. */
  news(news: EdgeNews): void;
  /** Once. */
  ended(): void;
}

export interface EdgeProcessOptions {
  tenants: () => Pick<Tenants, 'ownSockets' | 'leadIn'>;
  /** As whom it runs; null: as ourselves. */
  uid: number | null;
  /** The folder that it starts in, by whose sockets it reaches the panel. */
  panelDir: string;
  clock: Clock;
  logger: Logger;
}

/** Its program that came with this one: as TypeScript or as JavaScript. */
export const ownProgram = fileURLToPath(
  new URL(`../../edge/main${path.extname(import.meta.url)}`, import.meta.url),
);

/** The compiler is on once it has started, and what a request leaves behind has room to die young: it is to be fast. */
const nodeFlags = [
  '--no-opt',
  '--max-semi-space-size=8',
  '--max-old-space-size=512',
  // Threads that help would be waited for, beside a workload that takes all cores.
  '--single-threaded-gc',
  '--no-warnings',
];

/** Also for its start, on a machine that does much else. */
const obeyMs = 10_000;
const lookEveryMs = 5000;

export class EdgeProcess {
  /** The file of its program. */
  readonly program: string;
  readonly #child: ChildProcess;
  readonly #options: EdgeProcessOptions;
  readonly #events: EdgeEvents;
  /** Orders that are not carried out yet, by their numbers. */
  readonly #orders = new Map<number, () => void>();
  readonly #stopLooks: () => void;
  #last = 0;
  #phase: 'alive' | 'gone' = 'alive';

  constructor(program: string, options: EdgeProcessOptions, events: EdgeEvents) {
    this.program = program;
    this.#options = options;
    this.#events = events;
    this.#child = start(program, options);
    this.#child.on('error', () => {
      if (this.pid === undefined) this.#end(); // No process was made.
    });
    this.#child.once('exit', (code, signal) => {
      options.logger.info({ pid: this.pid, code, signal }, 'edge_ended');
      this.#end();
    });
    this.#child.on('message', (message) => this.#hear(message));
    this.#stopLooks = every(options.clock, lookEveryMs, () => void this.tell({ op: 'live' }));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves with true when that is done, and with false when the process is gone. */
  tell(order: EdgeOrder, handle?: SendHandle): Promise<boolean> {
    if (this.#phase === 'gone') return Promise.resolve(false);
    const n = ++this.#last;
    return new Promise((resolve) => {
      const cancel = whenLate(this.#options.clock, obeyMs, () => {
        this.#options.logger.error({ pid: this.pid, op: order.op }, 'edge_does_not_obey');
        this.kill();
      });
      this.#orders.set(n, () => {
        cancel();
        resolve(this.#phase === 'alive');
      });
      this.#send({ ...order, n }, handle);
    });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #send(message: FromRunner, handle?: SendHandle): void {
    // What cannot be sent has nobody to read it: its exit tells.
    this.#child.send(message, handle, () => undefined);
  }

  #hear(message: unknown): void {
    if (typeof message !== 'object' || message === null) return;
    if ('done' in message && typeof message.done === 'number') {
      this.#orders.get(message.done)?.();
      this.#orders.delete(message.done);
    } else if (isQuestion(message)) void this.#answer(message);
    else if (isNews(message) && this.#phase === 'alive') this.#events.news(message);
  }

  async #answer(question: EdgeQuestion & { n: number }): Promise<void> {
    const { logger } = this.#options;
    const tenants = this.#options.tenants();
    const { ask, target, n } = question;
    try {
      const ok =
        ask === 'own-sockets'
          ? [...(await tenants.ownSockets(target))]
          : await tenants.leadIn(target);
      this.#send({ re: n, ok });
    } catch (err) {
      logger.error({ err, ask }, 'edge_question_failed');
      this.#send({ re: n, ok: ask === 'own-sockets' ? [] : false });
    }
  }

  #end(): void {
    if (this.#phase === 'gone') return;
    this.#phase = 'gone';
    this.#stopLooks();
    for (const done of this.#orders.values()) done();
    this.#orders.clear();
    this.#events.ended();
  }
}

function start(entry: string, { uid, panelDir }: EdgeProcessOptions): ChildProcess {
  const tools = uid === null ? { lacking: [] } : findTools(['setpriv']);
  const before = 'lacking' in tools ? [] : [tools.setpriv, '--no-new-privs', '--'];
  const as = uid === null ? [] : [String(uid)];
  const [program = '', ...args] = [...before, process.execPath, ...nodeFlags, entry, ...as];
  return spawn(program, args, {
    cwd: panelDir,
    // A session of its own, with a share of the processor of its own.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '1' },
  });
}

function isNews(message: object): message is EdgeNews {
  const news = 'traffic' in message ? message.traffic : 'access' in message && message.access;
  return Array.isArray(news);
}

function isQuestion(message: object): message is EdgeQuestion & { n: number } {
  if (!('ask' in message && 'n' in message && 'target' in message)) return false;
  const { ask, n, target } = message;
  return (ask === 'own-sockets' || ask === 'lead-in') && typeof n === 'number' && isTarget(target);
}

function isTarget(target: unknown): target is Target {
  if (typeof target !== 'object' || target === null) return false;
  const { host, port, workload } = target as Record<string, unknown>;
  return typeof host === 'string' && typeof port === 'number' && typeof workload === 'string';
}

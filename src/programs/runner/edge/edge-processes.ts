/**
 * Owns the processes of the edge: as many as are wanted serve one port, and one that ends is started again.
 *
 * 1. All take connections from the same sockets, each as it has time. So nothing that connects waits for one that is
 *    busy or gone while another is there, and when one dies that costs its own connections alone.
 * 2. New ones take over together, before the old ones drain. When not all of them begin to serve, none does.
 */
import type { EdgeNews, EdgeOrder } from '../../../protocol/edge-messages.ts';
import { restartDelayMs } from '../backoff.ts';
import type { BoundPorts } from './bound-ports.ts';
import { EdgeProcess, type EdgeProcessOptions, ownProgram } from './edge-process.ts';
import { noteProcesses } from './last-processes.ts';

export interface EdgeProcessesOptions extends EdgeProcessOptions {
  /** The folder where it is noted which they are. */
  stateDir: string;
}

export interface EdgeProcessesEvents {
  /** What a process tells unasked. */
  news(process: EdgeProcess, news: EdgeNews): void;
  ended(process: EdgeProcess): void;
  /** Has a new one serve. Resolves with whether it does. */
  begin(process: EdgeProcess, bound: BoundPorts): Promise<boolean>;
}

/** What serves, and how many of it. */
export interface Crew {
  /** The file of its program; absent: the one that came with the runner. */
  program?: string;
  processes: number;
}

const backoff = { firstMs: 20, maxMs: 5000, goodRunMs: 10_000 };

export class EdgeProcesses {
  readonly #options: EdgeProcessesOptions;
  readonly #events: EdgeProcessesEvents;
  /** All that live, also those that drain. */
  readonly #all = new Set<EdgeProcess>();
  #serving = new Set<EdgeProcess>();
  /** Of those that are to be started again. */
  readonly #cancelStarts = new Set<() => void>();
  #crew: Required<Crew> = { program: ownProgram, processes: 1 };
  #shortRuns = 0;
  #tellAllGone: () => void = () => undefined;

  constructor(options: EdgeProcessesOptions, events: EdgeProcessesEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** How many are to serve. */
  get wanted(): number {
    return this.#crew.processes;
  }

  /** Resolves when all that live have done it. */
  async tell(order: EdgeOrder): Promise<void> {
    await Promise.all([...this.#all].map((one) => one.tell(order)));
  }

  /** Resolves when each listens, or is gone. */
  async start(bound: BoundPorts, crew: Crew): Promise<void> {
    this.#crew = { program: ownProgram, ...crew };
    const starts = Array.from({ length: crew.processes }, () => this.#start(bound));
    await Promise.all(starts);
  }

  /** Replaces those that serve, unless they are such a crew already. */
  async takeOver(bound: BoundPorts, crew: Crew): Promise<void> {
    const { logger } = this.#options;
    const before = this.#crew;
    const next = { program: ownProgram, ...crew };
    if (before.program === next.program && before.processes === next.processes) return;
    this.#crew = next;
    const launched = Array.from({ length: next.processes }, () => this.#launch(bound));
    const begun = await Promise.all(launched.map(({ begun }) => begun));
    if (begun.includes(false)) {
      this.#crew = before;
      for (const { process } of launched) process.kill();
      logger.error({ program: next.program }, 'edge_not_taken_over');
      return;
    }
    const former = this.stopServing();
    this.#serving = new Set(launched.map(({ process }) => process));
    await drained(former);
    const pids = [...this.#serving].map(({ pid }) => pid);
    logger.info({ pids, before: former.map(({ pid }) => pid) }, 'edge_taken_over');
  }

  /** From now on nobody is started again; returns those that served. */
  stopServing(): EdgeProcess[] {
    for (const cancel of this.#cancelStarts) cancel();
    this.#cancelStarts.clear();
    const former = [...this.#serving];
    this.#serving.clear();
    return former;
  }

  /** Those that serve take no connections any more, finish what is under way, and end. */
  async drain(): Promise<void> {
    await drained(this.stopServing());
  }

  /** Ends all at once; resolves when none is left. */
  async close(): Promise<void> {
    this.stopServing();
    const allGone = new Promise<void>((resolve) => (this.#tellAllGone = resolve));
    if (this.#all.size === 0) return;
    for (const one of this.#all) one.kill();
    await allGone;
  }

  async #start(bound: BoundPorts): Promise<void> {
    const { process, begun } = this.#launch(bound);
    this.#serving.add(process);
    await begun;
  }

  #launch(bound: BoundPorts): { process: EdgeProcess; begun: Promise<boolean> } {
    const { clock } = this.#options;
    const startedAtMs = clock.now();
    const started = new EdgeProcess(this.#crew.program, this.#options, {
      news: (news) => this.#events.news(started, news),
      ended: () => {
        this.#forget(started);
        if (!this.#serving.delete(started)) return;
        const wasShort = clock.now() - startedAtMs < backoff.goodRunMs;
        this.#shortRuns = wasShort ? this.#shortRuns + 1 : 0;
        this.#startAgain(bound);
      },
    });
    this.#all.add(started);
    this.#note();
    return { process: started, begun: this.#events.begin(started, bound) };
  }

  #forget(ended: EdgeProcess): void {
    this.#all.delete(ended);
    this.#events.ended(ended);
    if (this.#all.size === 0) this.#tellAllGone();
  }

  #note(): void {
    const pids = [...this.#all].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    noteProcesses(this.#options.stateDir, pids);
  }

  #startAgain(bound: BoundPorts): void {
    const delayMs = this.#shortRuns === 0 ? 0 : restartDelayMs(backoff, this.#shortRuns);
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#cancelStarts.delete(cancel);
      void this.#start(bound);
    });
    this.#cancelStarts.add(cancel);
  }
}

async function drained(processes: readonly EdgeProcess[]): Promise<void> {
  await Promise.all(processes.map((one) => one.tell({ op: 'drain' })));
}

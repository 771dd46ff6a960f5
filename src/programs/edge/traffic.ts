/**
 * Owns what the edge counts of each app's visitors, and telling it.
 *
 * 1. A finished exchange costs some additions, whatever became of it.
 * 2. What changed is told a second later at the latest, all of it at once: a message that is lost costs nothing
 *    but time. Nothing is told while nothing changes.
 */
import type { Clock } from '../../lib/clock.ts';
import type { EdgeRoute } from '../../protocol/workload.ts';
import {
  durationBoundsS,
  newCounts,
  ownTraffic,
  trafficAt,
  type TrafficReport,
} from '../../protocol/traffic.ts';

export interface Outcome {
  /** Of the final answer; 0: the exchange ended without one. */
  status: number;
  /** Whether the edge answered in the app's place. */
  byEdge: boolean;
  /** Of the bodies. */
  bytesIn: number;
  bytesOut: number;
  /** From the head of the request to the end of the answer. */
  ms: number;
}

export interface TrafficOptions {
  clock: Clock;
  tell: (reports: TrafficReport[]) => void;
}

const [edgeClass, abortedClass] = [4, 5];
const tellMs = 1000;

/** The counts of one app, as long as routes lead to it. */
export class AppCounts {
  readonly app: string;
  readonly life: number;
  readonly #counts = newCounts();
  readonly #changed: (counts: AppCounts) => void;
  #sockets = 0;
  #isTold = true;

  constructor(app: string, life: number, changed: (counts: AppCounts) => void) {
    this.app = app;
    this.life = life;
    this.#changed = changed;
  }

  finished({ status, byEdge, bytesIn, bytesOut, ms }: Outcome): void {
    const isAborted = status < 200 || status > 599;
    this.#add(isAborted ? abortedClass : byEdge ? edgeClass : Math.floor(status / 100) - 2, 1);
    this.#add(trafficAt.bytesIn, bytesIn);
    this.#add(trafficAt.bytesOut, bytesOut);
    if (!isAborted && !byEdge) this.#time(ms / 1000);
    this.#note();
  }

  socketOpened(): void {
    this.#sockets += 1;
    this.#note();
  }

  socketClosed(bytesIn: number, bytesOut: number): void {
    this.#sockets -= 1;
    this.#add(trafficAt.bytesIn, bytesIn);
    this.#add(trafficAt.bytesOut, bytesOut);
    this.#note();
  }

  report(): TrafficReport {
    this.#isTold = true;
    const { app, life } = this;
    return { app, life, counts: [...this.#counts], sockets: this.#sockets };
  }

  #time(seconds: number): void {
    let span = 0;
    while (span < durationBoundsS.length && seconds > (durationBoundsS[span] ?? 0)) span += 1;
    this.#add(trafficAt.durations + span, 1);
    this.#add(trafficAt.seconds, seconds);
  }

  #add(at: number, count: number): void {
    this.#counts[at] = (this.#counts[at] ?? 0) + count;
  }

  #note(): void {
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#changed(this);
  }
}

export class Traffic {
  readonly #options: TrafficOptions;
  #apps: ReadonlyMap<string, AppCounts>;
  #changed: AppCounts[] = [];
  #lives = 0;
  readonly #own: AppCounts;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#own = this.#begin(ownTraffic, 0);
    this.#apps = new Map([[ownTraffic, this.#own]]);
  }

  /** A request was answered that is no app's, or not yet. */
  answered(status: number): void {
    this.#own.finished({ status, byEdge: false, bytesIn: 0, bytesOut: 0, ms: 0 });
  }

  /** Counts of apps that no route leads to are told no more. */
  follow(routes: readonly EdgeRoute[]): void {
    const apps = new Map([[ownTraffic, this.#own]]);
    for (const { app } of routes) {
      if (app === undefined || apps.has(app.id)) continue;
      apps.set(app.id, this.#apps.get(app.id) ?? this.#begin(app.id));
    }
    this.#apps = apps;
  }

  /** The same until no route leads to the app any more. */
  of(app: string): AppCounts | undefined {
    return this.#apps.get(app);
  }

  /** Tells at once what was not told. */
  flush(): void {
    const changed = this.#changed.filter((one) => this.#apps.get(one.app) === one);
    this.#changed = [];
    if (changed.length > 0) this.#options.tell(changed.map((one) => one.report()));
  }

  #begin(app: string, life = ++this.#lives): AppCounts {
    return new AppCounts(app, life, (counts) => {
      this.#changed.push(counts);
      if (this.#changed.length === 1) this.#options.clock.after(tellMs, () => this.flush());
    });
  }
}

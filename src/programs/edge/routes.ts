/**
 * Owns which host goes where: the latest routes.
 *
 * 1. Of a route's targets the one with the fewest requests under way comes first (`lib/balancer.ts`).
 * 2. What an app may have at once is shared out among the processes of the edge, in equal parts that are rounded up.
 * 3. New routes apply to the next request. A request under way stays with its target.
 */
import type { Target } from '../../protocol/edge-messages.ts';
import { type AppEdgeSettings, edgeSettingsOf } from '../../protocol/app-edge-settings.ts';
import type { EdgeRoute, Vacancy } from '../../protocol/workload.ts';
import { Balancer } from '../../lib/balancer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AppCounts, Traffic } from './traffic.ts';

export interface LiveRoute {
  readonly targets: readonly Target[];
  readonly vacancy: Vacancy | undefined;
  /** The host that visitors are sent to instead. */
  readonly redirectTo: string | undefined;
  readonly app: EdgeRoute['app'];
  readonly acmeThumbprint: string | undefined;
  readonly panel: EdgeRoute['panel'];
  readonly settings: Readonly<AppEdgeSettings>;
  readonly load: Load;
  /** Undefined: nobody asks how many visitors it has. */
  readonly counts: AppCounts | undefined;
}

/** What is under way to one app, over all its hosts. */
export interface Load {
  underWay: number;
}

export class Routes {
  readonly balancer: Balancer<Target>;
  readonly #traffic: Traffic;
  /** How many processes of the edge there are. */
  #processes = 1;
  #routes: ReadonlyMap<string, LiveRoute> = new Map();
  /** Every target of a route once, the same one as long as routes lead there. */
  #targets: ReadonlyMap<string, Target> = new Map();
  #loads: ReadonlyMap<string, Load> = new Map();

  constructor(clock: Clock, traffic: Traffic) {
    this.#traffic = traffic;
    this.balancer = new Balancer(clock);
  }

  /** From the next routes on. */
  shareWith(processes: number): void {
    this.#processes = processes;
  }

  replace(routes: readonly EdgeRoute[]): void {
    this.#traffic.follow(routes);
    const targets = keeping(this.#targets);
    const loads = keeping(this.#loads);
    const live = routes.map((route): [string, LiveRoute] => [
      route.host,
      {
        targets: route.targets.map((target) => targets.of(keyOf(target), () => target)),
        vacancy: route.vacancy,
        redirectTo: route.redirectTo,
        app: route.app,
        acmeThumbprint: route.acmeThumbprint,
        panel: route.panel,
        settings: this.#partOf(edgeSettingsOf(route.settings)),
        load: loads.of(route.app?.id ?? route.host, () => ({ underWay: 0 })),
        counts: route.app && this.#traffic.of(route.app.id),
      },
    ]);
    this.#routes = new Map(live);
    this.#targets = targets.kept;
    this.#loads = loads.kept;
  }

  #partOf(settings: AppEdgeSettings): AppEdgeSettings {
    const { maxConnections: all } = settings;
    if (all === null) return settings;
    return { ...settings, maxConnections: Math.ceil(all / this.#processes) };
  }

  /** That of the host itself, else of a wildcard; undefined for a host that is no app's. */
  find(host: string): LiveRoute | undefined {
    return this.#routes.get(host) ?? this.#routes.get(`*${host.slice(host.indexOf('.'))}`);
  }

  /** Whether a route leads there still. */
  has(target: Target): boolean {
    return this.#targets.get(keyOf(target)) === target;
  }
}

/** The next of a map of things: those that are used again are the same. */
function keeping<T>(known: ReadonlyMap<string, T>) {
  const kept = new Map<string, T>();
  const of = (key: string, make: () => T): T => {
    const one = kept.get(key) ?? known.get(key) ?? make();
    kept.set(key, one);
    return one;
  };
  return { kept, of };
}

function keyOf({ host, port, workload = '', socket = '' }: Target): string {
  return `${host}:${String(port)} ${workload}${socket}`;
}

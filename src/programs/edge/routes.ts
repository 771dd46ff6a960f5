/**
 * Owns which host goes where: the latest routes.
 *
 * 1. A route's targets take turns. A target that just refused a connection comes last for a while.
 * 2. New routes apply to the next request. A request under way stays with its target.
 */
import type { Target } from '../../protocol/edge-messages.ts';
import type { EdgeRoute, Vacancy } from '../../protocol/workload.ts';
import type { Clock } from '../../lib/clock.ts';

interface LiveRoute {
  targets: readonly Target[];
  vacancy: Vacancy | undefined;
  next: number;
}

/** How long a target that refused is tried after the others. */
const refusedMs = 2000;

export class Routes {
  readonly #clock: Clock;
  #routes: ReadonlyMap<string, LiveRoute> = new Map();
  /** Every target of a route once, the same one as long as routes lead there. */
  #targets: ReadonlyMap<string, Target> = new Map();
  readonly #refusedAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  replace(routes: readonly EdgeRoute[]): void {
    this.#routes = this.#toMap(routes);
    this.#refusedAtMs.clear();
  }

  /** Targets in the order to try; undefined for a host that is no app's. */
  targetsOf(host: string): readonly Target[] | undefined {
    const route = this.#routes.get(host);
    if (!route) return undefined;
    const { targets } = route;
    if (targets.length < 2) return targets;
    route.next = (route.next + 1) % targets.length;
    const turned = [...targets.slice(route.next), ...targets.slice(0, route.next)];
    const refused = turned.filter((target) => this.#refusedLately(target));
    return refused.length === 0
      ? turned
      : [...turned.filter((target) => !refused.includes(target)), ...refused];
  }

  /** Whether a route leads there still. */
  has(target: Target): boolean {
    return this.#targets.get(keyOf(target)) === target;
  }

  /** Why no target takes a connection; undefined when that is not known. */
  vacancyOf(host: string): Vacancy | undefined {
    return this.#routes.get(host)?.vacancy;
  }

  noteRefused(target: Target): void {
    this.#refusedAtMs.set(keyOf(target), this.#clock.now());
  }

  #toMap(routes: readonly EdgeRoute[]): ReadonlyMap<string, LiveRoute> {
    const known = this.#targets;
    const all = new Map<string, Target>();
    const only = (target: Target): Target => {
      const key = keyOf(target);
      const one = all.get(key) ?? known.get(key) ?? target;
      all.set(key, one);
      return one;
    };
    const live = routes.map(({ host, targets, vacancy }): [string, LiveRoute] => [
      host,
      { targets: targets.map((target) => only(target)), vacancy, next: -1 },
    ]);
    this.#targets = all;
    return new Map(live);
  }

  #refusedLately(target: Target): boolean {
    const atMs = this.#refusedAtMs.get(keyOf(target));
    return atMs !== undefined && this.#clock.now() - atMs < refusedMs;
  }
}

function keyOf({ host, port, workload = '' }: Target): string {
  return `${host}:${String(port)} ${workload}`;
}

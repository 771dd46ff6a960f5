/**
 * Owns the routes of the edge: host name to instance, the union over all apps.
 *
 * 1. At its first message they are built anew from the store; after that apps tell what changed.
 * 2. A reply means that the edge has the routes, or that it will be tried again (`false`).
 * 3. An app that runs nothing has a route without targets (503); an unknown host has none (404).
 */
import type { Driver, EdgeRoute } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/contract.ts';
import type { AppRecord } from '../../store/records.ts';
import { tables } from '../../store/tables.ts';
import { actorKind } from '../runtime/contract.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/contract.ts';

export type EdgeProtocol = {
  /** Sends all routes to the edge; asked at start and when the driver connects again. */
  sync: { in: object; out: boolean };
  /** What an app's host leads to; null takes the route away. */
  route: {
    in: { appId: string; host: string; targets: { host: string; port: number }[] | null };
    out: boolean;
  };
};

/** One a server: `edgeActor.at(serverId)`. */
export const edgeActor = actorKind<EdgeProtocol>('edge');

export interface EdgeDeps {
  reader: Reader;
  driver: Driver;
  clock: Clock;
  logger: Logger;
  hostOf: (slug: string) => string;
  /** Until routes the edge did not take are sent again. */
  retryMs?: number;
}

/** Apps after which the walk over all of them gives way to others. */
const walkStep = 200;

/** Where the traffic of an app goes. */
export function targetsOf(app: Pick<AppRecord, 'run'>): { host: string; port: number }[] {
  const { live } = app.run;
  return live === null ? [] : [{ host: live.host, port: live.targetPort ?? live.port }];
}

export function edgeDefinition(deps: EdgeDeps): ActorDefinition<EdgeProtocol> {
  return {
    kind: edgeActor,
    // What it knows takes a walk over all apps to find again.
    idleMs: Infinity,
    activate: async (context) => new Edge(deps, context, await storedRoutes(deps, context)),
  };
}

/**
 * The routes of all apps. However many they are, others get their turns meanwhile; what changes until
 * the walk is over comes as messages behind it.
 */
async function storedRoutes(
  deps: EdgeDeps,
  context: ActorContext<EdgeProtocol>,
): Promise<Map<string, EdgeRoute>> {
  const routes = new Map<string, EdgeRoute>();
  let walked = 0;
  for (const app of deps.reader.scan(tables.apps)) {
    walked += 1;
    if (walked % walkStep === 0) {
      await new Promise(setImmediate);
      if (context.ended) break;
    }
    if (app.deletedAtMs !== null || app.serverId !== context.ref.id) continue;
    routes.set(app.id, { host: deps.hostOf(app.slug), targets: targetsOf(app) });
  }
  return routes;
}

class Edge implements Actor<EdgeProtocol> {
  readonly handlers: Actor<EdgeProtocol>['handlers'];
  readonly #deps: EdgeDeps;
  readonly #context: ActorContext<EdgeProtocol>;
  readonly #routes: Map<string, EdgeRoute>;
  #cancelRetry: () => void = () => undefined;

  constructor(deps: EdgeDeps, context: ActorContext<EdgeProtocol>, routes: Map<string, EdgeRoute>) {
    this.#deps = deps;
    this.#context = context;
    this.#routes = routes;
    this.handlers = {
      sync: () => this.#send(),
      route: ({ appId, host, targets }) => {
        const before = this.#routes.get(appId);
        if (targets === null) this.#routes.delete(appId);
        else this.#routes.set(appId, { host, targets });
        const same =
          targets === null ? before === undefined : before && sameTargets(before.targets, targets);
        // Idle apps come and go without work for the edge.
        return same === true && targets?.length === 0 ? true : this.#send();
      },
    };
  }

  deactivate(): void {
    this.#cancelRetry();
  }

  async #send(): Promise<boolean> {
    this.#cancelRetry();
    try {
      await this.#deps.driver.setRoutes([...this.#routes.values()]);
      return true;
    } catch (error) {
      this.#deps.logger.warn({ err: error, routes: this.#routes.size }, 'edge_routes_not_set');
      this.#cancelRetry = this.#deps.clock.after(this.#deps.retryMs ?? 2000, () => {
        if (!this.#context.ended) this.#context.tellSelf({ type: 'sync' });
      });
      return false;
    }
  }
}

function sameTargets(a: EdgeRoute['targets'], b: EdgeRoute['targets']): boolean {
  return a.length === b.length && a.every((t, i) => t.host === b[i]?.host && t.port === b[i].port);
}

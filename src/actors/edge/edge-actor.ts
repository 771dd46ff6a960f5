/**
 * Owns the routes of the edge: host name to instance, the union over all apps.
 *
 * 1. At its first message they are built anew from the store; after that apps tell what changed.
 * 2. A reply means that the edge has the routes, or that it will be tried again (`false`).
 * 3. An app that runs nothing has a route without targets (503); an unknown host has none (404).
 * 4. What only changes words that visitors read is sent a little later, many changes at once.
 */
import type { EdgeRoute } from '../../protocol/workload.ts';
import { tables } from '../../store/records/tables.ts';
import { actorKind } from '../runtime/actor.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import type { WorkloadDeps } from '../workload/deps.ts';
import { isSameRoute, isSameTargets, routeOf } from './app-route.ts';

export type EdgeProtocol = {
  /** Sends all routes to the edge; asked at start and when the driver connects again. */
  sync: { in: object; out: boolean };
  /** What an app's host leads to; null takes the route away. */
  route: { in: { appId: string; route: EdgeRoute | null }; out: boolean };
};

/** One a server: `edgeActor.at(serverId)`. */
export const edgeActor = actorKind<EdgeProtocol>('edge');

export interface EdgeDeps extends Pick<WorkloadDeps, 'reader' | 'driver' | 'clock' | 'logger'> {
  hostOf: (slug: string) => string;
}

/** Until routes the edge did not take are sent again. */
const retryMs = 2000;
/** Apps after which the walk over all of them gives way to others. */
const walkStep = 200;
/** How long changes of words wait for others. */
const gatherMs = 200;

export function edgeDefinition(deps: EdgeDeps): ActorDefinition<EdgeProtocol> {
  return {
    kind: edgeActor,
    // What it knows takes a walk over all apps to find again.
    idleMs: Infinity,
    activate: async (context) =>
      new Edge(deps, context, await storedRoutes(deps, context)).handlers,
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
    const route = app.serverId === context.ref.id ? routeOf(app, deps.hostOf) : null;
    if (route !== null) routes.set(app.id, route);
  }
  return routes;
}

class Edge {
  readonly #deps: EdgeDeps;
  readonly #context: ActorContext<EdgeProtocol>;
  readonly #routes: Map<string, EdgeRoute>;
  /** Calls off what is to be sent later. */
  #cancelNext: (() => void) | null = null;

  constructor(deps: EdgeDeps, context: ActorContext<EdgeProtocol>, routes: Map<string, EdgeRoute>) {
    this.#deps = deps;
    this.#context = context;
    this.#routes = routes;
  }

  get handlers(): Actor<EdgeProtocol> {
    return {
      sync: () => this.#send(),
      route: ({ appId, route }) => this.#change(appId, route),
    };
  }

  #change(appId: string, route: EdgeRoute | null): boolean | Promise<boolean> {
    const before = this.#routes.get(appId) ?? null;
    if (route === null) this.#routes.delete(appId);
    else this.#routes.set(appId, route);
    if (isSameRoute(before, route) && !route?.targets.length) return true;
    const nowhere = { host: '', targets: [] };
    const isAboutWords =
      route !== null && !isSameRoute(before, route) && isSameTargets(before ?? nowhere, route);
    if (!isAboutWords) return this.#send();
    if (this.#cancelNext === null) this.#sendIn(gatherMs);
    return true;
  }

  #sendIn(delayMs: number): void {
    this.#cancelNext?.();
    this.#cancelNext = this.#deps.clock.after(
      delayMs,
      () => void this.#context.report(() => this.#send()),
    );
  }

  async #send(): Promise<boolean> {
    this.#cancelNext?.();
    this.#cancelNext = null;
    try {
      await this.#deps.driver.setRoutes([...this.#routes.values()]);
      return true;
    } catch (error) {
      this.#deps.logger.warn({ err: error, routes: this.#routes.size }, 'edge_routes_not_set');
      this.#sendIn(retryMs);
      return false;
    }
  }
}

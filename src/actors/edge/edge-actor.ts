/**
 * Owns the routes of the edge: host name to instance, over all apps; and the certificates it serves with.
 *
 * 1. The first message builds the routes from the store; after that the apps report their changes.
 * 2. A reply means that the edge has what there is to tell, or that it will be sent again (`false`).
 * 3. An app that runs nothing has a route without targets (503); an unknown host has none (404).
 * 4. A change only of texts for visitors is sent a little later, many changes at once.
 */
import type { EdgeRoute } from '../../protocol/workload.ts';
import { tables } from '../../store/records/tables.ts';
import { actorKind } from '../runtime/actor.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { localServerId } from '../../places/local-place.ts';
import type { Place } from '../../places/place.ts';
import type { WorkloadDeps } from '../workload/deps.ts';
import type { SecretBox } from '../../store/secrets.ts';
import { certificatesOfServer, edgeCertificates } from './edge-certificates.ts';
import { areSameButForWords, areSameRoutes, routesAt } from './app-route.ts';

export type EdgeProtocol = {
  /** Sends all routes and certificates to the edge; requested at start and when the driver connects again. */
  sync: { in: object; out: boolean };
  /** The routes of an app's hosts, instead of those that it had. */
  route: { in: { appId: string; routes: EdgeRoute[] }; out: boolean };
  /** Replies once it has done what it was told before. */
  heard: { in: object; out: null };
  /** Sends all certificates: those of domains have changed. */
  certificates: { in: object; out: boolean };
};

/** One for each server: `edgeActor.at(serverId)`. */
export const edgeActor = actorKind<EdgeProtocol>('edge');

export interface EdgeDeps extends Pick<WorkloadDeps, 'reader' | 'clock' | 'logger'> {
  /** Whose edge it is. */
  placeOf: (serverId: string) => Pick<Place, 'driver'>;
  hostOf: (slug: string) => string;
  /** Where certificates are ordered; absent or null: nowhere. */
  acmeDirectory?: string | null;
  /** What a certificate is ordered for that serves the names of apps; absent or null: none is. */
  appsWildcard?: string | null;
  /** How the edge of this machine leads to the panel; absent or null: it does not. */
  panelRoute?: () => EdgeRoute | null;
  secrets: Pick<SecretBox, 'open'>;
}

/** The pause before routes that the edge did not take are sent again. */
const retryMs = 2000;
const retryOthersMs = 30_000;
/** After this many apps the walk over all of them lets other work run. */
const walkStep = 200;
/** How long a change of texts waits for others. */
const gatherMs = 200;

export function edgeDefinition(deps: EdgeDeps): ActorDefinition<EdgeProtocol> {
  return {
    kind: edgeActor,
    // Passivation would cost a walk over all apps to learn the routes again.
    idleMs: Infinity,
    activate: async (context) =>
      new Edge(deps, context, await storedRoutes(deps, context)).handlers,
  };
}

/**
 * The routes of all apps. However many they are, other work runs in between. Changes during the walk come
 * as later messages.
 */
async function storedRoutes(
  deps: EdgeDeps,
  context: ActorContext<EdgeProtocol>,
): Promise<Map<string, EdgeRoute[]>> {
  const routes = new Map<string, EdgeRoute[]>();
  let walked = 0;
  for (const app of deps.reader.scan(tables.apps)) {
    walked += 1;
    if (walked % walkStep === 0) {
      await new Promise(setImmediate);
      if (context.ended) break;
    }
    const own = routesAt(context.ref.id, app, deps.hostOf);
    if (own.length > 0) routes.set(app.id, own);
  }
  return routes;
}

class Edge {
  readonly #deps: EdgeDeps;
  readonly #context: ActorContext<EdgeProtocol>;
  /** By app. */
  readonly #routes: Map<string, EdgeRoute[]>;
  /** Cancels what is to be sent later. */
  #cancelNext: (() => void) | null = null;
  #cancelCertificates: () => void = () => undefined;

  constructor(
    deps: EdgeDeps,
    context: ActorContext<EdgeProtocol>,
    routes: Map<string, EdgeRoute[]>,
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#routes = routes;
  }

  get handlers(): Actor<EdgeProtocol> {
    return {
      sync: () => this.#sync(),
      heard: () => null,
      certificates: () => this.#sendCertificates(),
      route: ({ appId, routes }) => this.#change(appId, routes),
    };
  }

  /** Whether it is the edge of this machine, which leads to the panel, too. */
  get #isHere(): boolean {
    return this.#context.ref.id === localServerId;
  }

  get #driver(): Place['driver'] {
    return this.#deps.placeOf(this.#context.ref.id).driver;
  }

  get #panelRoute(): EdgeRoute | null {
    return this.#isHere ? (this.#deps.panelRoute?.() ?? null) : null;
  }

  /** Another server may be away for long, and is told all when it comes back. */
  get #retryMs(): number {
    return this.#isHere ? retryMs : retryOthersMs;
  }

  #change(appId: string, routes: EdgeRoute[]): boolean | Promise<boolean> {
    const before = this.#routes.get(appId) ?? routes.map((route) => ({ ...route, targets: [] }));
    const isSame = areSameRoutes(this.#routes.get(appId) ?? [], routes);
    if (routes.length === 0) this.#routes.delete(appId);
    else this.#routes.set(appId, routes);
    if (isSame && routes.every(({ targets }) => targets.length === 0)) return true;
    const isAboutWords = !isSame && routes.length > 0 && areSameButForWords(before, routes);
    if (!isAboutWords) return this.#send();
    if (this.#cancelNext === null) this.#sendIn(gatherMs);
    return true;
  }

  async #sync(): Promise<boolean> {
    // Certificates first: as soon as there is a route, its visitors may come by HTTPS.
    const [certificates, routes] = [await this.#sendCertificates(), await this.#send()];
    return certificates && routes;
  }

  async #sendCertificates(): Promise<boolean> {
    const { reader, secrets, clock, logger, appsWildcard = null } = this.#deps;
    const panelHost = this.#panelRoute?.host ?? null;
    this.#cancelCertificates();
    try {
      const certificates = this.#isHere
        ? edgeCertificates(reader, secrets, { appsWildcard, panelHost })
        : certificatesOfServer(reader, secrets, this.#context.ref.id);
      await this.#driver.setCertificates(certificates);
      return true;
    } catch (error) {
      logger.warn({ err: error, server: this.#context.ref.id }, 'edge_certificates_not_set');
      this.#cancelCertificates = clock.after(
        this.#retryMs,
        () => void this.#context.report(() => this.#sendCertificates()),
      );
      return false;
    }
  }

  /**
   * Domains, and the panel, answer challenges of the authority that certificates are ordered from. The last route of a host
   * counts: that of the panel is nobody else's.
   */
  #allRoutes(): EdgeRoute[] {
    const { reader, acmeDirectory = null } = this.#deps;
    const panel = this.#panelRoute;
    const all = [...this.#routes.values()];
    const account = acmeDirectory === null ? null : reader.get(tables.acmeAccounts, acmeDirectory);
    if (!account) return panel === null ? all.flat() : [...all.flat(), panel];
    const { thumbprint: acmeThumbprint } = account;
    const routes = all.flatMap((routes) =>
      // The first is the app's own, below the domain of apps.
      routes.map((route, at) => (at === 0 ? route : { ...route, acmeThumbprint })),
    );
    return panel === null ? routes : [...routes, { ...panel, acmeThumbprint }];
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
      await this.#driver.setRoutes(this.#allRoutes());
      return true;
    } catch (error) {
      const about = { server: this.#context.ref.id, routes: this.#routes.size };
      this.#deps.logger.warn({ err: error, ...about }, 'edge_routes_not_set');
      this.#sendIn(this.#retryMs);
      return false;
    }
  }
}

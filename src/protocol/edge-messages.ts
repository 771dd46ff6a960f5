/**
 * Owns the messages between a runner and its edge, a program of its own. They go over the channel that Node makes
 * for a child, the only one that carries a listening socket.
 *
 * 1. What the runner tells is acknowledged by its number once it holds: from then on nothing goes where it says
 *    that nothing is to go.
 * 2. What the edge asks is answered by its number.
 */
import type { TrafficReport } from './traffic.ts';
import type { EdgeCertificate, EdgeRoute, EdgeTarget } from './workload.ts';

export type Target = Readonly<EdgeTarget>;

/** Where a workload serves in a network of its own. */
export interface OwnPlace {
  readonly host: string;
  readonly port: number;
}

/** Says who listens at targets that are workloads of this machine. */
export interface Tenants {
  /**
   * The sockets by which the workload, and nobody else, listens at its target; empty when others do, or
   * nobody. What is seen is younger than the call.
   */
  ownSockets(target: Target): Promise<ReadonlySet<string>>;
  /** Where it serves in a network of its own: the very same as long as it does. Undefined: on the machine's. */
  ownPlace(target: Target): OwnPlace | undefined;
  /** It refused a connection there: it may listen on its loopback alone. Resolves with whether to try again. */
  leadIn(target: Target): Promise<boolean>;
}

export type EdgeOrder =
  /** The first. With it comes the socket to listen on. */
  | {
      op: 'begin';
      /** How many processes serve, of which this is one; absent: one. */
      processes?: number;
      trustedProxies: readonly string[];
      routes: readonly EdgeRoute[];
      certificates: readonly EdgeCertificate[];
      places: readonly (readonly [workload: string, place: OwnPlace])[];
    }
  /** With it comes the socket to listen on for HTTPS. */
  | { op: 'listen-tls'; ticketKeys: string }
  /** What tickets of sessions are sealed with from now on: 48 bytes in base64, the same for every process. */
  | { op: 'ticket-keys'; ticketKeys: string }
  /** Addresses and CIDRs of proxies that come for many clients. */
  | { op: 'trust'; proxies: readonly string[] }
  | { op: 'routes'; routes: readonly EdgeRoute[] }
  /** All of them. What is open goes on with the one it began with. */
  | { op: 'certificates'; certificates: readonly EdgeCertificate[] }
  /** Null: it serves nowhere. */
  | { op: 'place'; workload: string; place: OwnPlace | null }
  /** Takes no connections any more, finishes what is under way, and ends. */
  | { op: 'drain' }
  /** Asks for a sign of life. */
  | { op: 'live' };

export type EdgeQuestion =
  { ask: 'own-sockets'; target: Target } | { ask: 'lead-in'; target: Target };

export interface EdgeAnswers {
  'own-sockets': string[];
  'lead-in': boolean;
}

export type FromRunner = (EdgeOrder & { n: number }) | { re: number; ok: unknown };
/** What the edge tells unasked, and nobody acknowledges. */
export type EdgeNews =
  /** All counts so far of the apps whose counts have changed. */
  { traffic: readonly TrafficReport[] } | { access: AccessLines };

/** Of apps' access logs: whole lines. */
export type AccessLines = readonly (readonly [app: string, text: string])[];

export type FromEdge = (EdgeQuestion & { n: number }) | { done: number } | EdgeNews;

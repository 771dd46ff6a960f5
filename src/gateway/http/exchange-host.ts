/** Owns the types between an exchange and its gateway, and the bounds of both with their defaults. */
import type { HeadBlocks } from './answer-head.ts';
import type { FailureHost } from './base-exchange.ts';
import type { AddressRules } from './client-address.ts';
import type { Route } from '../transport.ts';
import type { RouteCounts } from '../metrics.ts';
import type { CorkedWrites } from './open-stream.ts';
import type { BodyLimits, RequestBody } from './request-body.ts';
import type { RequestHead } from './request-head.ts';

/** How an exchange ended, for the access log and the metrics. */
export interface Ending {
  status: number;
  /** Bytes of the answer's body. */
  bytes: number;
  aborted: boolean;
}

export interface ExchangeLimits {
  /** After this time the gateway answers for the handler, and reports it. */
  answerMs: number;
  /** A client that takes no byte of an answer, or of a stream, for this long is cut off. */
  sendStallMs: number;
  streamStallMs: number;
  /** How much, and for how long, is read on after an early answer. */
  lingerBytes: number;
  lingerMs: number;
}

export interface GatewayLimits extends ExchangeLimits, BodyLimits {
  /** Of request line and header fields together; above it 431. */
  headerBytes: number;
  maxSockets: number;
  /** How long `drain` waits. */
  drainMs: number;
}

export const defaultLimits: GatewayLimits = {
  headerBytes: 16 * 1024,
  maxSockets: 50_000,
  idleMs: 60_000,
  minBytesPerS: 1024,
  windowMs: 60_000,
  answerMs: 120_000,
  sendStallMs: 60_000,
  streamStallMs: 30 * 60_000,
  lingerBytes: 1024 ** 3,
  lingerMs: 15_000,
  drainMs: 10_000,
};

/** The shortest bound on time, which says how often time must be checked. */
export function shortestMs(limits: GatewayLimits): number {
  const { idleMs, windowMs, answerMs, sendStallMs, streamStallMs, lingerMs } = limits;
  return Math.min(idleMs, windowMs, answerMs, sendStallMs, streamStallMs, lingerMs);
}

/** What an exchange of type `E` needs of its gateway. */
export interface ExchangeHost<E> extends FailureHost, AddressRules {
  /** Whether every answer now closes its connection. */
  readonly closing: boolean;
  /** Of headers that never change. */
  readonly blocks: HeadBlocks;
  readonly limits: ExchangeLimits;
  readonly now: () => number;
  /** For all open streams. */
  readonly writes: CorkedWrites;
  newRequestId(): string;
  /** Whether no app of this machine has a connection to us over loopback, as far as that matters now. */
  ownerAlone(): boolean;
  /** The answer is complete, or the client has left. */
  answered(exchange: E, ending: Ending): void;
  /** The response object is gone. */
  released(exchange: E): void;
}

export interface ExchangeRequest {
  /** Undefined where no route matched. */
  route: Route | undefined;
  /** As the client wrote it. */
  method: string;
  params: Readonly<Record<string, string>>;
  head: RequestHead;
  body: RequestBody | undefined;
  /** The address at the other end of the connection. */
  peer: string;
  /** Close after the answer, whatever the client says. */
  lastOnConnection: boolean;
  /** The framing has more than one reading. */
  doubtful: boolean;
  counts: RouteCounts;
}

/** Owns the types between an exchange and its gateway. */
import type { AnswerLines } from './answer-head.ts';
import type { FailureHost } from './base-exchange.ts';
import type { InNetworks } from './client-address.ts';
import type { Route } from '../transport.ts';
import type { RouteCounts } from '../metrics.ts';
import type { CorkedWrites } from './open-stream.ts';
import type { RequestBody } from './request-body.ts';
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

/** What an answer needs of its gateway. */
export interface AnswerHost {
  /** Whether every answer now closes its connection. */
  readonly closing: boolean;
  readonly lines: AnswerLines;
}

/** What an exchange of type `E` needs of its gateway. */
export interface ExchangeHost<E> extends AnswerHost, FailureHost {
  readonly limits: ExchangeLimits;
  /** Whether a peer is a trusted proxy. */
  readonly trusted: InNetworks;
  readonly now: () => number;
  /** For all open streams. */
  readonly writes: CorkedWrites;
  newRequestId(): string;
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

/**
 * Owns what a request of a visitor is to the edge, by whatever protocol and connection it came. HTTP/1.1 is
 * `http1/visitor-connection.ts`; it runs on any socket, of TLS, too. A stream of HTTP/2 is another implementation.
 */
import type { Socket } from 'node:net';

import type { AnswerHead } from './http1/answer-head.ts';
import type { RequestHead } from './http1/request-head.ts';
import type { Notice } from './pages.ts';
import type { Watch } from './watch.ts';

/** Where a connection comes from. */
export interface Origin {
  /** An IPv4 address is in its own form, not in IPv6. */
  readonly address: string;
  readonly proto: 'http' | 'https';
  /** The name that its certificate was given for, in lower case. */
  readonly servername?: string;
  /** Of HTTP. Absent: each head says it. */
  readonly version?: '2';
}

/**
 * 1. Its body is not read before `takeBody`.
 * 2. Its answer is interim ones, then `notice`, or `answer`, bytes and `end`; or it is `cut`. It takes nothing
 *    afterwards.
 */
export interface Visit {
  readonly head: RequestHead;
  readonly origin: Origin;
  /** Whether bytes of more than `copiedMax` that were given are still to be read. */
  readonly holdsBytes: boolean;
  /** First of all: who is told what comes. */
  listen(events: VisitEvents): void;

  takeBody(): void;
  pauseBody(): void;
  resumeBody(): void;
  /** The rest of it is read and dropped. */
  dropBody(): void;

  interim(head: AnswerHead): void;
  /** With a 101 what comes from the visitor from then on is its body, until the connection ends. */
  answer(head: AnswerHead): void;
  /** They are the visit's until it returns, or while `holdsBytes`. */
  bytes(bytes: Buffer, from: number, to: number): void;
  /** Sends what was given. False: no more is to be given until `drained`. */
  flush(): boolean;
  /** `trailers`: lines, each with its end. */
  end(trailers: string): void;
  /** Answers in the app's place. */
  notice(notice: Notice): void;
  /** Breaks it off, so that the visitor sees that the answer is not whole. */
  cut(): void;
}

export interface VisitEvents {
  /** Whether bytes of more than `copiedMax` that were told are still to be read. */
  readonly holdsBody: boolean;
  bodyBytes(bytes: Buffer, from: number, to: number): void;
  /** All that came at once was told. */
  bodyFlush(): void;
  bodyEnd(trailers: string): void;
  /** It can be no body. */
  bodyMalformed(): void;
  drained(): void;
  gone(): void;
}

/** What a connection needs of the edge. */
export interface VisitorHost {
  readonly watch: Watch;
  /** From now on each answer is the last of its connection. */
  readonly isDraining: boolean;
  /** A head is whole. The returned function says that its request is over. */
  begun(socket: Socket): () => void;
  visit(visit: Visit): void;
  /** A request was answered that could not be read, with this status. */
  answered(status: number): void;
}

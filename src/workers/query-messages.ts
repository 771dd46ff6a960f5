/**
 * Owns the messages between the gateway's thread and a query worker; all of them are plain data. The
 * principal and the parts of `start` are opaque here: they belong to layers above.
 */
import type { MessagePort } from 'node:worker_threads';

/** The task that a worker runs as long as it lives. */
export interface QueryWorkerStart<Setup extends object = object> {
  port: MessagePort;
  /** What the worker needs to read and to execute. */
  setup: Setup;
  /** Whether this worker leaves the processor to other threads when they need it. */
  yields: boolean;
}

export interface QueryCall {
  query: string;
  operationName: string | null;
  variables: object;
  principal: object;
  via: string;
  /** Longer data is cut to a start of about this length, which is valid JSON, too. */
  charsMax?: number;
}

/** Requests that the gateway sends as one message. */
export interface QueryBatch {
  seq: number;
  calls: QueryCall[];
  /** Memory of an earlier reply, which the answers may be written into; null: none is free. */
  spare: ArrayBuffer | null;
}

export const answerKinds = ['executed', 'refused', 'partial'] as const;
/** `refused`: nothing ran; `partial`: there is data, and errors. */
export type AnswerKind = (typeof answerKinds)[number];

/** The answers of a batch, in order, in one piece of memory that is transferred. */
export interface QueryBatchReply {
  seq: number;
  /** Index into `answerKinds` for each call. */
  kinds: Uint8Array;
  /** Where each answer ends in `bytes`. */
  ends: Uint32Array;
  /** The microseconds that each answer took. */
  tookUs: Uint32Array;
  /** May be longer than the answers are. */
  bytes: Uint8Array<ArrayBuffer>;
  /** For the log. */
  faults: QueryFault[];
}

/** An error that was masked as INTERNAL, or an unexpected failure of a compiled query. */
export interface QueryFault {
  event: 'graphql_internal_error' | 'graphql_compiled_fault';
  path: string;
  cause: string;
}

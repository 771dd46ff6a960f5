/**
 * Owns the messages between the process driver and its runner: requests with a number and one
 * answer each, and events nobody asked for.
 *
 * 1. Every request may be sent again after a lost connection: doing it twice is doing it once.
 * 2. `hello` and `handover` keep their shape in every protocol number.
 */
import type { PlainServiceError } from '../../lib/errors.ts';
import type { EdgeRoute, Workload, WorkloadSpec } from '../driver.ts';

export interface EdgeAddress {
  host: string;
  port: number;
}

export type RunnerRequest =
  | { op: 'hello'; protocol: number }
  /** Ends everything, keeping on record what is to run, and exits: the next runner starts it. */
  | { op: 'handover' }
  | { op: 'configure'; edge: EdgeAddress | null }
  | { op: 'start'; spec: WorkloadSpec }
  | { op: 'inspect'; workload: string }
  | { op: 'list' }
  | { op: 'stop'; workload: string }
  | { op: 'remove'; workload: string }
  /** Answers at once when there are entries behind `afterSeq`, else when there are or at the end. */
  | { op: 'read'; workload: string; afterSeq: number; maxBytes: number }
  /** Gives up a `read` by its number. */
  | { op: 'cancel'; request: number }
  | { op: 'acknowledge'; workload: string; seq: number }
  | { op: 'probe'; workload: string }
  | { op: 'free-port' }
  | { op: 'set-routes'; routes: readonly EdgeRoute[] };

export interface HelloAnswer {
  protocol: number;
  pid: number;
}

/** Entries as they lie in the spool (see `src/protocol/log-records.ts`). */
export interface ReadAnswer {
  firstSeq: number;
  records: Uint8Array;
  /** Nothing will come behind these any more. */
  ended: boolean;
}

export interface RunnerAnswers {
  hello: HelloAnswer;
  handover: null;
  configure: null;
  start: Workload;
  inspect: Workload | null;
  list: Workload[];
  stop: null;
  remove: null;
  read: ReadAnswer;
  cancel: null;
  acknowledge: null;
  probe: 'listening' | 'silent' | 'foreign';
  'free-port': number;
  'set-routes': null;
}

export type RunnerFrame =
  | { re: number; ok: unknown }
  | { re: number; error: PlainServiceError }
  | { event: 'state'; workload: Workload };

export type RequestFrame = RunnerRequest & { n: number };

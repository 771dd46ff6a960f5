/**
 * Owns the messages between the process driver and its runner: numbered requests with one answer each,
 * and events.
 *
 * 1. Every request but `exec` and `pipe` may be sent again after a lost connection: twice has the same effect as
 *    once. Terminals and commands belong to the connection, and end with it.
 * 2. A connection that has asked for a `pipe` carries that alone: once it is answered, `PipeInput` there and
 *    `PipeFrame` back. The end of the connection ends the program.
 * 3. `hello` and `handover` keep their shape in every protocol number.
 */
import type { PlainServiceError } from '../lib/errors.ts';
import type {
  EdgeCertificate,
  EdgeRoute,
  ExecOutcome,
  ExecSpec,
  PipeEnd,
  PipeSpec,
  TerminalSpec,
  Usage,
  Workload,
  WorkloadSpec,
} from './workload.ts';
import type { IsolationLayer, LayerState } from './isolation.ts';
import type { PlainTraffic } from './traffic.ts';
import type { Listener } from '../lib/processes/listening-sockets.ts';

export interface EdgeAddress {
  host: string;
  port: number;
  /** Of HTTPS; absent: there is none. */
  tlsPort?: number;
}

export interface EdgeSettings extends EdgeAddress {
  /** Addresses and CIDRs of proxies in front of the edge, which come for many clients. */
  trustedProxies?: readonly string[];
  /** How many processes of the edge share its ports; absent: one. */
  processes?: number;
  /** Whether its edge leads to the panel, too. */
  leadsToPanel?: boolean;
  /** The file of the program to serve with; absent: the one that came with the runner. */
  program?: string;
}

export type RunnerRequest =
  | { op: 'hello'; protocol: number }
  /** Ends everything and exits. What is to run stays on record, and the next runner starts it. */
  | { op: 'handover' }
  | { op: 'configure'; edge: EdgeSettings | null }
  | { op: 'start'; spec: WorkloadSpec }
  | { op: 'inspect'; workload: string }
  | { op: 'list' }
  | { op: 'stop'; workload: string }
  | { op: 'remove'; workload: string }
  /** Is answered as soon as there are entries behind `afterSeq`, or at the end of the log. */
  | { op: 'read'; workload: string; afterSeq: number; maxBytes: number }
  /** Gives up a `read` or an `exec` by its number. */
  | { op: 'cancel'; request: number }
  | { op: 'acknowledge'; workload: string; seq: number }
  | { op: 'probe'; workload: string }
  | { op: 'listeners'; workload: string }
  | { op: 'usages'; workloads: readonly string[] }
  | { op: 'isolation' }
  /** What visitors of apps asked of the edge, since their first. */
  | { op: 'traffic' }
  /** The app is gone for good. */
  | { op: 'forget-traffic'; app: string }
  | { op: 'free-port' }
  /** The port that is kept for an owner which has no workload is needed no more. */
  | { op: 'let-port'; owner: string }
  | { op: 'set-routes'; routes: readonly EdgeRoute[] }
  | { op: 'set-certificates'; certificates: readonly EdgeCertificate[] }
  /** `terminal`: a number that this connection has not used. */
  | { op: 'terminal-open'; workload: string; terminal: number; spec: TerminalSpec }
  /** This one and the next three are not answered. */
  | { op: 'terminal-write'; terminal: number; bytes: Uint8Array }
  | { op: 'terminal-resize'; terminal: number; cols: number; rows: number }
  /** There is room for `count` more bytes of output. */
  | { op: 'terminal-taken'; terminal: number; count: number }
  | { op: 'terminal-close'; terminal: number }
  | { op: 'exec'; workload: string; spec: ExecSpec }
  /** `hasInput`: otherwise its input is at its end from the start. */
  | { op: 'pipe'; workload: string; spec: PipeSpec; hasInput: boolean };

/** How many bytes of input may be on their way to a program that has not taken them. */
export const pipeWindowBytes = 256 * 1024;
/** How much output of a terminal is told before some of it is taken; the last piece may go beyond. */
export const terminalWindowBytes = 256 * 1024;

/** Null: it is at its end. */
export interface PipeInput {
  input: Uint8Array | null;
}

/** Nothing comes after `ended` and `failed`. */
export type PipeFrame =
  | { output: Uint8Array }
  /** So many bytes of input were written to the program. */
  | { taken: number }
  /** It has closed its input: what is sent is dropped. */
  | { deaf: true }
  | { ended: PipeEnd }
  | { failed: PlainServiceError };

export interface HelloAnswer {
  protocol: number;
  pid: number;
  /** Layers of isolation that it leaves out because it was told to; a runner that knows none says nothing. */
  without?: readonly IsolationLayer[];
  /** Its edge can be given a port for HTTPS. */
  tls?: true;
  /** Its edge reaches the panel's sockets. */
  panel?: true;
}

/** Entries as they lie in the spool (see `src/protocol/log-records.ts`). */
export interface ReadAnswer {
  firstSeq: number;
  records: Uint8Array;
  /** No entries will follow these. */
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
  /** Null from a runner that does not know the question. */
  listeners: Listener[] | null;
  /** Of those that run. */
  usages: [id: string, usage: Usage][];
  /** Of every layer; each runner knows it whose `hello` says what it leaves out. */
  isolation: LayerState[];
  /** Null from a runner that does not know the question. */
  traffic: PlainTraffic[] | null;
  'forget-traffic': null;
  'free-port': number;
  'let-port': null;
  'set-routes': null;
  'set-certificates': null;
  'terminal-open': null;
  'terminal-write': null;
  'terminal-resize': null;
  'terminal-taken': null;
  'terminal-close': null;
  exec: ExecOutcome;
  pipe: null;
}

/** What a terminal reports, by its number; nothing after the exit. */
export type TerminalFrame =
  | { event: 'terminal-output'; terminal: number; bytes: Uint8Array }
  /** `count` bytes of input were written to the program. */
  | { event: 'terminal-written'; terminal: number; count: number }
  | { event: 'terminal-exit'; terminal: number; code: number | null; lost: boolean };

export type RunnerFrame =
  | { re: number; ok: unknown }
  | { re: number; error: PlainServiceError }
  | { event: 'state'; workload: Workload }
  | TerminalFrame;

export type RequestFrame = RunnerRequest & { n: number };

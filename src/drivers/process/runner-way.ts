/** Owns what a driver needs of the way to its runner: on this machine, or on another. */
import type { Duplex } from 'node:stream';

import type { PlainServiceError, ServiceError } from '../../lib/errors.ts';
import type { RunnerAnswers, RunnerRequest } from '../../protocol/runner-messages.ts';
import type { Workload } from '../../protocol/workload.ts';

/** The runner is not there, or ended while it was asked. */
export class ConnectionLost extends Error {
  constructor(cause?: unknown) {
    super('Cannot ask the runner: the connection is lost', { cause });
    this.name = 'ConnectionLost';
  }
}

/** Bytes to and from a runner. */
export interface RunnerSocket {
  readonly stream: Duplex;
  /** Whether it is to keep this process alive. */
  hold?(holds: boolean): void;
}

/** What the first words are said over. */
export interface RunnerAsker {
  request<Op extends RunnerRequest['op']>(
    request: Extract<RunnerRequest, { op: Op }>,
  ): Promise<RunnerAnswers[Op]>;
}

export interface RunnerWay {
  /** As the driver calls itself. */
  readonly name: 'process' | 'remote';
  /** How frames are read where they come from another machine; null: as those of our own processes. */
  readonly decode: ((body: Uint8Array) => unknown) | null;
  /** Fields for lines of the log. */
  readonly place: Readonly<Record<string, string>>;
  /** An error as the runner tells it. */
  errorOf(told: PlainServiceError): ServiceError;
  /** A workload as the runner tells it; throws where it is none. Absent: it is believed. */
  workloadOf?(told: unknown): Workload;
  /** Asked before each state that is told. Null: it may be heard now; else resolves when to ask again. */
  heldBack?(): Promise<void> | null;
  /**
   * `receive`: for all bytes; borrowed for the call. Null: they are read from the stream.
   * Rejects with ConnectionLost where no runner listens, with AGENT_UNREACHABLE where nobody can be asked.
   */
  connect(receive: ((chunk: Uint8Array) => void) | null): Promise<RunnerSocket>;
  /** The first words: whether it is a runner that we want; what it serves with. Rejects with ConnectionLost if not. */
  agree(connection: RunnerAsker): Promise<void>;
  /** What it is told next, without a limit of time. */
  configure(connection: RunnerAsker): Promise<void>;
  /** Starts one. Whether it is up is for the caller to see by connecting. */
  launch(): Promise<void>;
  /** Whether anything is on record there. Rejects with AGENT_UNREACHABLE where nobody can be asked. */
  hasRecords(): Promise<boolean>;
  /** Calls back once when nobody can be asked any more, though that is not known for sure. */
  unlessHeard?(onSilence: () => void): () => void;
  /** Whether it is known that nobody can be asked. What was asked before is answered if it is back in time. */
  isAway?(): boolean;
  /** Calls back each time that nobody can be asked any more. */
  onAway?(callback: () => void): () => void;
  /** Calls back each time that somebody can be asked again. */
  onBack?(callback: () => void): () => void;
  /** Whether logs are read over a connection of their own, so that nobody who types waits behind them. */
  readonly partsLogs: boolean;
  /** Whether workloads there may have networks of their own at all, before a runner is asked. */
  mayHaveNetworks(): boolean;
}

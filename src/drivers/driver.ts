/**
 * Owns what a driver is: the one interface behind which apps run. Every driver passes
 * `test/conformance/driver.suite.ts`.
 *
 * 1. Everything is named by ids the caller picks, so that after a crash the caller asks again with
 *    the same id and gets the same thing, never a second one.
 * 2. A workload lives on when Gangway ends, however it ends, and loses no log entry and no exit
 *    code meanwhile: both are kept until `acknowledge` and `remove`.
 * 3. `stop` and `remove` of what is already gone succeed.
 */
import type { Resources } from '../store/records.ts';

export interface WorkloadSpec {
  /** `<deployment id>-build`, `<deployment id>-1`, …; `[a-z0-9_-]{2,64}`. */
  id: string;
  appId: string;
  /** `job` runs once; `service` is started again when it ends, with backoff, until stopped. */
  kind: 'job' | 'service';
  /** Program and arguments; never passed through a shell unless the program is one. */
  command: readonly string[];
  /** Absolute folder on the machine the driver runs on. */
  workingDir: string;
  /** The whole environment; nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** User and group id to run as; null: the driver's own. */
  uid: number | null;
  /** The port a service listens on; null for a job. */
  port: number | null;
  resources: Resources;
  /** A job is ended after this time and counts as failed with reason `deadline`. */
  deadlineMs: number | null;
  /** Time between the polite and the hard signal. */
  stopGraceMs: number;
}

export type WorkloadState =
  | { phase: 'running'; startedAtMs: number; restarts: number }
  /** A service between two starts. */
  | { phase: 'waiting'; restarts: number; nextStartAtMs: number; lastExit: Exit }
  | { phase: 'ended'; exit: Exit };

export interface Exit {
  /** Exit code; null when a signal ended it. */
  code: number | null;
  signal: string | null;
  reason: 'exited' | 'stopped' | 'deadline' | 'failed_to_start' | 'lost';
  /** A sentence for people, for what could not be started. */
  detail: string | null;
  atMs: number;
}

export interface Workload {
  spec: Pick<WorkloadSpec, 'id' | 'appId' | 'kind' | 'port'>;
  state: WorkloadState;
}

export interface LogEntry {
  /** Ascends by one for each entry of a workload, from 1. */
  seq: number;
  atMs: number;
  stream: 'stdout' | 'stderr';
  /** Bytes as written, with the newline when there was one; 16 KiB at most. */
  bytes: Uint8Array;
}

export type DriverEvent =
  | { type: 'state'; workload: Workload }
  /** The place where containers run is not reached, or is again: states may have changed. */
  | { type: 'disconnected' }
  | { type: 'connected'; workloads: Workload[] };

/** What an edge sends where; kept by the driver's side, so that it works while Gangway restarts. */
export interface EdgeRoute {
  /** Lower-case host name without port. */
  host: string;
  /** `127.0.0.1:<port>` targets, taken in turn; none answers 503. */
  targets: readonly { host: string; port: number }[];
}

export interface Driver {
  readonly name: 'process' | 'docker' | 'swarm' | 'remote';
  /** Connects when that needs no start of anything; a first `start` connects in any case. */
  open(): Promise<void>;
  /** Starts it, or returns what runs under this id already. */
  start(spec: WorkloadSpec): Promise<Workload>;
  inspect(id: string): Promise<Workload | undefined>;
  list(): Promise<Workload[]>;
  /** Ends it with all its descendants; resolves when they are gone. */
  stop(id: string): Promise<void>;
  /** Stops and forgets it, with its unread log. */
  remove(id: string): Promise<void>;
  /** Calls back with every event from now on. */
  watch(listener: (event: DriverEvent) => void): () => void;
  /**
   * Entries behind `afterSeq`, in order, then as they come; resolves when the workload has ended
   * (for a service: is stopped) and all was delivered, or when `signal` aborts. Waits for the promise of `sink`
   * before it delivers more.
   */
  follow(
    id: string,
    afterSeq: number,
    sink: (entries: readonly LogEntry[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Entries up to `seq` are stored elsewhere and may be dropped. */
  acknowledge(id: string, seq: number): void;
  /** Whether something of this workload itself listens on its port. */
  probe(id: string): Promise<'listening' | 'silent' | 'foreign'>;
  /** A port that nothing listens on now. */
  freePort(): Promise<number>;
  /** Replaces all routes of the edge; durable on its side. */
  setRoutes(routes: readonly EdgeRoute[]): Promise<void>;
  /** Lets go of the connection; what runs goes on. Twice is fine. */
  close(): Promise<void>;
}

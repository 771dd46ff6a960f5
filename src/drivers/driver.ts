/**
 * Owns what a driver is: the one interface behind which apps run. Every driver passes
 * `test/conformance/driver.suite.ts`.
 *
 * 1. Everything is named by ids the caller picks, so that after a crash the caller asks again with
 *    the same id and gets the same thing, never a second one.
 * 2. A workload lives on when Gangway ends, however it ends, and loses no log entry and no exit
 *    code meanwhile: both are kept until `acknowledge` and `remove`.
 * 3. `stop` and `remove` of what is already gone succeed.
 * 4. A terminal or an `exec` is the connection's: it ends with it, and with the workload.
 */
import type { Resources } from '../store/records.ts';

export interface WorkloadSpec {
  /** `<deployment id>-build`, `<deployment id>-1`, `<database id>-1`, …; `[a-z0-9_-]{2,64}`. */
  id: string;
  /** The app (`app_…`) or database (`db_…`) it belongs to. */
  owner: string;
  /** `job` runs once; `service` is started again when it ends, with backoff, until stopped. */
  kind: 'job' | 'service';
  /** Program and arguments; never passed through a shell unless the program is one. Empty: the image's own. */
  command: readonly string[];
  /** Absolute folder on the machine the driver runs on, or in the container; empty: the image's own. */
  workingDir: string;
  /** The whole environment; nothing is inherited but what the image sets. */
  env: Readonly<Record<string, string>>;
  /** User and group id to run as; null: the driver's own, or the image's. */
  uid: number | null;
  /** The port a service is reached at on loopback, or told to listen on; null for a job. */
  port: number | null;
  /** What it runs in; null on a driver that runs programs of the machine (`runs` is `host`). */
  container: ContainerSpec | null;
  resources: Resources;
  /** A job is ended after this time and counts as failed with reason `deadline`. */
  deadlineMs: number | null;
  /** Time between the polite and the hard signal. */
  stopGraceMs: number;
}

export interface ContainerSpec {
  /** As `Images` named it. */
  image: string;
  /** The port the program listens on inside; null: `WorkloadSpec.port`. */
  port: number | null;
  /** Volumes of ours by name, made when they are not there; they outlive the workload. */
  volumes: readonly { name: string; path: string; readOnly?: boolean }[];
  /** A network of ours, made when it is not there; null: one of its own. */
  network: string | null;
  /**
   * Where its port is reached: on loopback, or at an address of its own, where the driver can, so
   * that no name of this machine leads to it. Absent: on loopback.
   */
  reachedAt?: 'loopback' | 'address';
  /** Host names it has in `network`. */
  aliases: readonly string[];
  /** Networks of ours it is in besides. */
  furtherNetworks?: readonly { name: string; aliases: readonly string[] }[];
  settings?: ContainerSettings;
}

/**
 * What a compose file may ask for besides; what is null is left to the image and the daemon. With it,
 * `WorkloadSpec.command` replaces the image's command and leaves its entrypoint.
 */
export interface ContainerSettings {
  entrypoint: readonly string[] | null;
  user: string | null;
  hostname: string | null;
  /** Such as `SIGQUIT`. */
  stopSignal: string | null;
  init: boolean | null;
  /** Its own files cannot be changed. */
  readOnly: boolean;
  tty: boolean;
  /** Paths kept in memory. */
  tmpfs: readonly string[];
  /** Paths of volumes without a name, which go with the container. */
  unnamedVolumes: readonly string[];
  labels: Readonly<Record<string, string>>;
  health: ContainerHealthCheck | null;
}

/** As in a Dockerfile's HEALTHCHECK; null is the image's own or the daemon's default. */
export interface ContainerHealthCheck {
  /** `['CMD', …]` or `['CMD-SHELL', line]`; empty: none. */
  test: readonly string[] | null;
  intervalMs: number | null;
  timeoutMs: number | null;
  startPeriodMs: number | null;
  retries: number | null;
}

export type WorkloadState =
  | {
      phase: 'running';
      startedAtMs: number;
      /** Starts after its first one; the daemon of a container may count anew when it starts itself. */
      restarts: number;
      /** How it ended before; absent in its first run, and where nobody knows. */
      lastExit?: Exit;
      /** What its own health check says; absent where it has none. */
      health?: 'starting' | 'healthy' | 'unhealthy';
    }
  /** A service between two starts. */
  | { phase: 'waiting'; restarts: number; nextStartAtMs: number; lastExit: Exit }
  | { phase: 'ended'; exit: Exit };

export interface Exit {
  /** Exit code; null when a signal ended it. */
  code: number | null;
  signal: string | null;
  reason: 'exited' | 'stopped' | 'deadline' | 'failed_to_start' | 'lost';
  /** What ended it, where the place where it ran says so. */
  cause?: 'out_of_memory' | 'unhealthy';
  /** A sentence for people, for what could not be started. */
  detail: string | null;
  atMs: number;
}

export interface Workload {
  spec: Pick<WorkloadSpec, 'id' | 'owner' | 'kind' | 'port'>;
  state: WorkloadState;
  /** Where it is reached, as long as it is not removed; absent: on loopback, at its port. */
  address?: { host: string; port: number };
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
  | { type: 'connected'; workloads: Workload[] }
  /** One of its servers came, went or changed. */
  | { type: 'servers' };

/** A machine of a driver that has several. */
export interface ServerInfo {
  /** Among those of its driver, as long as it is one of them. */
  id: string;
  name: string;
  /** Whether it is the one that the driver asks. */
  isOwn: boolean;
  connected: boolean;
  /** Nothing new is to be put on it. */
  draining: boolean;
  /** Of what runs containers there. */
  version: string | null;
}

/** Why an app does not take its visitors' requests; they are told, and may be anybody. */
export type Vacancy =
  | 'not_deployed'
  | 'first_deployment'
  | 'first_deployment_failed'
  | 'starting'
  | 'ended'
  | 'stopped';

/** What an edge sends where; kept by the driver's side, so that it works while Gangway restarts. */
export interface EdgeRoute {
  /** Lower-case host name without port. */
  host: string;
  /** Taken in turn; none answers 503. */
  targets: readonly { host: string; port: number }[];
  /** Also beside targets, for when none of them takes a connection. Absent: it is not known. */
  vacancy?: Vacancy;
}

/** A TCP socket that listens. */
export interface Listener {
  /** `127.0.0.1`, `0.0.0.0`, `::`, … */
  address: string;
  port: number;
}

export interface TerminalSpec {
  /** What runs on the PTY, beside the workload's own program; empty: `/bin/bash`, else `/bin/sh`. */
  command: readonly string[];
  /** 1..1000 each. */
  cols: number;
  rows: number;
  /** Besides the workload's own variables; `TERM` is `xterm-256color` unless given. */
  env: Readonly<Record<string, string>>;
}

/** What a terminal tells; nothing comes after `exit`. */
export interface TerminalEvents {
  /** Bytes as the PTY gave them; only borrowed for the call. */
  output(bytes: Uint8Array): void;
  /** `lost`: the place where it ran is not reached any more. */
  exit(exit: { code: number | null; lost: boolean }): void;
}

/** An open PTY. Calls after its end do nothing. */
export interface Terminal {
  /** Bytes given to `write` that the program's side has not taken yet, as far as is known here. */
  readonly unwritten: number;
  /** Keeps what the program does not take yet; who writes looks at `unwritten`. */
  write(bytes: Uint8Array): void;
  /** 1..1000 each. */
  resize(cols: number, rows: number): void;
  /** While paused at most a bounded amount of output is kept, then the program waits. */
  pause(): void;
  resume(): void;
  /** Ends what runs on it, with all it started there. */
  close(): void;
}

export interface ExecSpec {
  command: readonly string[];
  /** Besides the workload's own variables. */
  env: Readonly<Record<string, string>>;
  /** It is ended after this time, with all it started. */
  timeoutMs: number;
  /** Of both outputs together; what comes behind is dropped. */
  maxBytes: number;
}

export interface ExecOutcome {
  /** Both outputs as they came. */
  output: Uint8Array;
  /** 128 + the signal's number when one ended it; 124 when the time was over. */
  exitCode: number;
  /** Something behind `maxBytes` was dropped. */
  truncated: boolean;
}

/** What a workload uses now; counters ascend from its start. */
export interface Usage {
  /** Nanoseconds of CPU time so far. */
  cpuNs: number;
  memoryBytes: number;
  /** Null where it cannot be told apart from others'. */
  networkInBytes: number | null;
  networkOutBytes: number | null;
}

export interface RegistryLogin {
  /** Such as `registry.example:5000`. */
  host: string;
  username: string;
  password: string;
}

export interface ImageBuild {
  /** The app it is built for. */
  owner: string;
  /** What `build` returns and a workload names; `[a-z0-9_-]{2,64}`. A second build of it replaces it. */
  name: string;
  /** Absolute folder; streamed, without what its `.dockerignore` names. */
  contextDir: string;
  /** A path inside `contextDir`, or the text of a Dockerfile. */
  dockerfile: { path: string } | { text: string };
  buildArgs: Readonly<Record<string, string>>;
  /** The stage that is built; absent: the last one. */
  target?: string;
  logins: readonly RegistryLogin[];
}

export interface ImagePull {
  owner: string;
  /** As for a build. */
  name: string;
  /** Such as `registry.example/team/app:tag` or `…@sha256:…`. */
  reference: string;
  logins: readonly RegistryLogin[];
}

export interface ImageInfo {
  /** For `ContainerSpec.image`. */
  image: string;
  /** TCP ports it says it listens on. */
  ports: readonly number[];
  /** Of a pulled one, `sha256:…` of its manifest, where the registry says: what pulls the very same again. */
  digest?: string | null;
}

/**
 * What a driver of containers runs. Rejects with ServiceError: IMAGE_BUILD_FAILED, IMAGE_NOT_FOUND,
 * REGISTRY_REFUSED with a sentence for people, AGENT_UNREACHABLE; or when `signal` aborts, having ended
 * what was under way.
 */
export interface Images {
  /** `say` is given the lines of the build as they come, without their newlines. */
  build(spec: ImageBuild, say: (line: string) => void, signal: AbortSignal): Promise<ImageInfo>;
  /** `say` is given the progress, some lines a second at most. */
  pull(spec: ImagePull, say: (line: string) => void, signal: AbortSignal): Promise<ImageInfo>;
  /** Removes all images of an owner but these; none that a workload runs. */
  keep(owner: string, images: ReadonlySet<string>): Promise<void>;
}

export interface Driver {
  readonly name: 'process' | 'docker' | 'swarm' | 'remote';
  /** Programs of the machine it is on, or images in containers. */
  readonly runs: 'host' | 'image';
  /** Null on a driver that runs programs of the machine. */
  readonly images: Images | null;
  /** Connects when that needs no start of anything; a first `start` connects in any case. */
  open(): Promise<void>;
  /** Whether the place where workloads run gives an answer within this time. */
  answers(withinMs: number): Promise<boolean>;
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
  /** Where something of this workload listens, as far as that is seen; in its own network. */
  listeners(id: string): Promise<Listener[]>;
  /** Opens a PTY in a running workload: NOT_RUNNING when it is not. */
  openTerminal(id: string, spec: TerminalSpec, events: TerminalEvents): Promise<Terminal>;
  /** Opens the workload's own standard streams; BAD_USER_INPUT where the driver cannot. */
  attach(
    id: string,
    spec: Omit<TerminalSpec, 'command' | 'env'>,
    events: TerminalEvents,
  ): Promise<Terminal>;
  /** Runs one command in a running workload, to its end: NOT_RUNNING when it is not. */
  exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecOutcome>;
  /** Undefined for what does not run. */
  usage(id: string): Promise<Usage | undefined>;
  /** Of those among them that run, where asking for many at once costs less than one by one. */
  usages?(ids: readonly string[]): Promise<ReadonlyMap<string, Usage>>;
  /** Removes a volume of ours with what it holds; one that is gone is fine. */
  removeVolume(name: string): Promise<void>;
  /** Removes all volumes of ours that were made for an owner. */
  removeVolumesOf(owner: string): Promise<void>;
  /** Its machines; absent where that is this one alone. AGENT_UNREACHABLE within some seconds. */
  servers?(): Promise<ServerInfo[]>;
  /**
   * Whether no app is reached under a name of this machine, at any port; absent: each is. Rejects with
   * AGENT_UNREACHABLE.
   */
  hidesApps?(): Promise<boolean>;
  /** A port that nothing listens on now. */
  freePort(): Promise<number>;
  /** Replaces all routes of the edge; durable on its side. */
  setRoutes(routes: readonly EdgeRoute[]): Promise<void>;
  /** Lets go of the connection; what runs goes on. Twice is fine. */
  close(): Promise<void>;
}

/**
 * Owns workloads as plain data: what is asked for, their state, how they ended, and where they are
 * reached. Drivers and the runner exchange these.
 */
import type { AppEdgeSettings } from './app-edge-settings.ts';

export interface Resources {
  memoryMb: number | null;
  cpus: number | null;
  pids: number | null;
  replicas: number;
}

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
  /**
   * Whether its clients go on to know the port when it is gone: nobody else gets the port then, until its
   * owner has another one. Default false.
   */
  keepsPort?: boolean;
  /**
   * The Unix socket on which it listens alone, and on no port, when it is run by this other command. Where
   * workloads share the network of the machine the driver has it do so: it holds the port then, and leads those
   * of the same team to the socket. Absent: it listens on its port.
   */
  behind?: { socket: string; command: readonly string[] };
  /**
   * The container it runs in; null on a driver that runs programs of the machine (`runs` is `host`).
   */
  container: ContainerSpec | null;
  /**
   * Its team, by which what workloads take from others is bounded; where workloads have networks of
   * their own, they reach databases of the same team alone.
   */
  team?: string;
  /**
   * Its own folders on the machine: `temp` is its `/tmp` where it sees files of its own alone. Absent: it
   * sees what its uid may see.
   */
  files?: { root: string; temp: string };
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
  /** Volumes of ours by name. They are made when they are missing, and outlive the workload. */
  volumes: readonly { name: string; path: string; readOnly?: boolean }[];
  /** A network of ours, made when it is missing; null: it shares a network with no other workload. */
  network: string | null;
  /**
   * Where its port is reached: on loopback, or, where the driver can, at an address of its own, to
   * which no name of this machine leads. Absent: on loopback.
   */
  reachedAt?: 'loopback' | 'address';
  /** Host names it has in `network`. */
  aliases: readonly string[];
  /** Further networks of ours that it is in. */
  furtherNetworks?: readonly { name: string; aliases: readonly string[] }[];
  settings?: ContainerSettings;
}

/**
 * What else a compose file may ask for. What is null is left to the image and the daemon. With these
 * settings, `WorkloadSpec.command` replaces the image's command and leaves its entrypoint.
 */
export interface ContainerSettings {
  entrypoint: readonly string[] | null;
  user: string | null;
  hostname: string | null;
  /** Such as `SIGQUIT`. */
  stopSignal: string | null;
  init: boolean | null;
  /** Whether its own files cannot be changed. */
  readOnly: boolean;
  tty: boolean;
  /** Paths kept in memory. */
  tmpfs: readonly string[];
  /** Paths of volumes without a name, which are removed with the container. */
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
      /** Starts after the first one. A container's daemon may count anew when it starts itself. */
      restarts: number;
      /** How it ended last; absent in its first run, and where that is not known. */
      lastExit?: Exit;
      /** The result of its own health check; absent where it has none. */
      health?: 'starting' | 'healthy' | 'unhealthy';
      /** Somebody else was seen to listen on its port. */
      portTaken?: true;
    }
  /** A service between two starts. */
  | {
      phase: 'waiting';
      restarts: number;
      nextStartAtMs: number;
      lastExit: Exit;
      /** Somebody else has its port. */
      portTaken?: true;
    }
  | { phase: 'ended'; exit: Exit };

export interface Exit {
  /** Exit code; null when a signal ended it. */
  code: number | null;
  signal: string | null;
  reason: 'exited' | 'stopped' | 'deadline' | 'failed_to_start' | 'lost';
  /** What ended it, where that is known. */
  cause?: 'out_of_memory' | 'unhealthy';
  /** A sentence for people when it could not be started. */
  detail: string | null;
  atMs: number;
}

export interface Workload {
  spec: Pick<WorkloadSpec, 'id' | 'owner' | 'kind' | 'port'>;
  state: WorkloadState;
  /** Where it is reached until it is removed; absent: on loopback, at its port. */
  address?: { host: string; port: number };
}

/** `access`: of an app's visitors, from the edge. */
export type EntryStream = 'stdout' | 'stderr' | 'access';

export interface LogEntry {
  /** Ascends by one for each entry of a workload, from 1. */
  seq: number;
  atMs: number;
  stream: EntryStream;
  /** Bytes as written, with the newline when there was one; 16 KiB at most. */
  bytes: Uint8Array;
}

/** By which the access log of an app is followed and acknowledged, as the log of a workload is. */
export function accessLogOf(appId: string): string {
  return `access:${appId}`;
}

/** Undefined for what is no access log. */
export function appOfAccessLog(id: string): string | undefined {
  return /^access:([A-Za-z0-9_-]{1,64})$/.exec(id)?.[1];
}

/** Why an app does not take its visitors' requests. Visitors are told, and may be anybody. */
export type Vacancy =
  | 'not_deployed'
  | 'first_deployment'
  | 'first_deployment_failed'
  | 'starting'
  | 'ended'
  | 'stopped'
  /** Gangway itself is. */
  | 'panel_away';

export interface EdgeTarget {
  host: string;
  port: number;
  /**
   * Where the panel, or an app of another server, is reached: the name of a Unix socket in the folder that the edge
   * starts in, instead of a port.
   */
  socket?: string;
  /**
   * The workload of the edge's own runner that is reached there: nothing is sent while it is not this one
   * that listens. Absent for what runs elsewhere, as in a container.
   */
  workload?: string;
}

/**
 * Where an edge sends requests for a host. The runner keeps routes, so that they work while Gangway
 * restarts.
 */
export interface EdgeRoute {
  /** Lower-case host name without port; `*.` before it stands for one label. */
  host: string;
  /** Used in turn. Without any the answer is 503. */
  targets: readonly EdgeTarget[];
  /** Also given with targets, for when none of them takes a connection. Absent: not known. */
  vacancy?: Vacancy;
  /** Whose visitors these are. */
  app?: { id: string; name: string };
  /** Absent: as by default. */
  settings?: AppEdgeSettings;
  /** Of the account that orders certificates for this host: challenges by HTTP are answered with it (RFC 8555, 8.3). */
  acmeThumbprint?: string;
  /** The host that visitors are sent to, for good, instead of being served. */
  redirectTo?: string;
  /** Of the panel's host: where people are sent who do not come by HTTPS, such as `https://panel.example.com`. */
  panel?: { origin: string };
}

/** A certificate that an edge serves with, to who asks for one of its names. */
export interface EdgeCertificate {
  /** Host names in lower case; `*.` stands for one label. */
  names: readonly string[];
  /** PEM, that of the host first. */
  chain: string;
  /** PEM. In no log. */
  key: string;
}

export interface TerminalSpec {
  /**
   * The program on the PTY, which runs beside the workload's own; empty: `/bin/bash`, else `/bin/sh`.
   */
  command: readonly string[];
  /** 1..1000 each. */
  cols: number;
  rows: number;
  /** Besides the workload's own variables; `TERM` is `xterm-256color` unless given. */
  env: Readonly<Record<string, string>>;
}

export interface ExecSpec {
  command: readonly string[];
  /** Besides the workload's own variables. */
  env: Readonly<Record<string, string>>;
  /** It is ended after this time, with everything it started. */
  timeoutMs: number;
  /** For both outputs together. Further output is dropped. */
  maxBytes: number;
}

export interface ExecOutcome {
  /** Both outputs as they came. */
  output: Uint8Array;
  /** 128 + the signal's number when one ended it; 124 when the time was over. */
  exitCode: number;
  /** Whether output beyond `maxBytes` was dropped. */
  truncated: boolean;
}

export interface PipeSpec {
  command: readonly string[];
  /** Besides the workload's own variables. */
  env: Readonly<Record<string, string>>;
}

/** How a program ended whose streams were ours. */
export interface PipeEnd {
  /** 128 + the signal's number when one ended it. */
  exitCode: number;
  /** The last 4 KiB that it wrote to stderr. */
  complaint: string;
}

/** What a workload uses now. Counters ascend from its start. */
export interface Usage {
  /** Nanoseconds of CPU time so far. */
  cpuNs: number;
  memoryBytes: number;
  /** Null where it cannot be told apart from others'. */
  networkInBytes: number | null;
  networkOutBytes: number | null;
}

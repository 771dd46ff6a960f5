/**
 * Owns what a driver is: the one interface behind which apps run. Every driver passes
 * `test/conformance/driver.suite.ts`.
 *
 * 1. Everything is named by ids the caller picks, so that after a crash the caller asks again with
 *    the same id and gets the same thing, never a second one.
 * 2. A workload lives on when Gangway ends, however it ends, and loses no log entry and no exit
 *    code meanwhile: both are kept until `acknowledge` and `remove`.
 * 3. `stop` and `remove` of what is already gone succeed.
 * 4. A terminal, an `exec` or a `pipe` is the connection's: it ends with it, and with the workload.
 */
import type {
  EdgeCertificate,
  EdgeRoute,
  ExecOutcome,
  ExecSpec,
  LogEntry,
  PipeEnd,
  PipeSpec,
  TerminalSpec,
  Usage,
  Workload,
  WorkloadSpec,
} from '../protocol/workload.ts';
import type { LayerState } from '../protocol/isolation.ts';
import type { AppTraffic } from '../protocol/traffic.ts';
import type { Listener } from '../lib/processes/listening-sockets.ts';

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

/** A program whose standard streams are the caller's. */
export interface Pipe {
  /**
   * What it writes to stdout, read from it only as it is taken here. Whoever leaves it before its end ends the
   * program. Throws what `ended` rejects with, when the program is not at its end.
   */
  output: AsyncIterable<Uint8Array>;
  /**
   * Resolves when `output` is at its end. Rejects with the reason of `signal`, with what `input` threw,
   * AGENT_UNREACHABLE, or BAD_USER_INPUT: there is no such program.
   */
  ended: Promise<PipeEnd>;
}

export interface RegistryLogin {
  /** Such as `registry.example:5000`. */
  host: string;
  username: string;
  password: string;
}

interface ImageRequest {
  /** The app it is for. */
  owner: string;
  /** What comes of it, as a workload names it; `[a-z0-9_-]{2,64}`. A second one of it replaces it. */
  name: string;
  logins: readonly RegistryLogin[];
}

export interface ImageBuild extends ImageRequest {
  /** Absolute folder; streamed, without what its `.dockerignore` names. */
  contextDir: string;
  /** A path inside `contextDir`, or the text of a Dockerfile. */
  dockerfile: { path: string } | { text: string };
  buildArgs: Readonly<Record<string, string>>;
  /** The stage that is built; absent: the last one. */
  target?: string;
}

export interface ImagePull extends ImageRequest {
  /** Such as `registry.example/team/app:tag` or `…@sha256:…`. */
  reference: string;
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

/** By their names in a tar, which are `[a-zA-Z0-9_.-]+`, the names of volumes. */
export type VolumeFolders = Readonly<Record<string, string>>;

/**
 * The files in volumes, as tar: those of a volume begin with `volumes/<its name in the tar>/`. Rejects with
 * AGENT_UNREACHABLE, or with the reason of `signal`.
 */
export interface Volumes {
  /** The names of all volumes of an owner. */
  of(owner: string): Promise<string[]>;
  /**
   * Names ascend, folder by folder. A file that shrinks meanwhile cuts the tar off within it, without a word.
   */
  read(owner: string, folders: VolumeFolders, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * Names in this tar begin with those of `folders` alone. Owners and modes are set as it says. Volumes that
   * are missing are made. Rejects with STORAGE_FULL, RESTORE_FAILED, and with what `tar` throws; a part may be
   * written then.
   */
  write(
    owner: string,
    folders: VolumeFolders,
    tar: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
}

export interface Driver {
  readonly name: 'process' | 'docker' | 'swarm' | 'remote';
  /** Programs of the machine it is on, or images in containers. */
  readonly runs: 'host' | 'image';
  /** Null on a driver that runs programs of the machine. */
  readonly images: Images | null;
  /** Null on a driver that runs programs of the machine. */
  readonly volumes: Volumes | null;
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
  /**
   * Runs a program in a running workload with bytes in and out, as fast as both sides take them: NOT_RUNNING
   * when it is not. Its input ends with `input`, of which nothing is read ahead of it but a bounded amount;
   * null: it is at its end from the start. Ends with `signal`, with all it started, and when `input` throws.
   */
  pipe(
    id: string,
    spec: PipeSpec,
    input: AsyncIterable<Uint8Array> | null,
    signal: AbortSignal,
  ): Promise<Pipe>;
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
  /**
   * What keeps its workloads apart, layer by layer; absent: its containers do. Rejects with
   * AGENT_UNREACHABLE.
   */
  isolation?(): Promise<readonly LayerState[]>;
  /** A port that nothing listens on now. */
  freePort(): Promise<number>;
  /** The port that is kept for an owner without a workload (`keepsPort`) is needed no more. */
  letPort?(owner: string): Promise<void>;
  /**
   * By app what visitors asked of its edge, since the first; absent where that is another driver's. Rejects with
   * AGENT_UNREACHABLE.
   */
  traffic?(): Promise<ReadonlyMap<string, AppTraffic>>;
  /** The app is gone for good, with its counts. */
  forgetTraffic?(app: string): Promise<void>;
  /** Replaces all routes of the edge; durable on its side. */
  setRoutes(routes: readonly EdgeRoute[]): Promise<void>;
  /** Replaces all certificates of the edge; durable on its side. Resolves when new connections get them. */
  setCertificates(certificates: readonly EdgeCertificate[]): Promise<void>;
  /** Lets go of the connection; what runs goes on. Twice is fine. */
  close(): Promise<void>;
}

/** Owns the shapes of what is stored of apps: their settings, variables, deployments and what runs. */
import type { MoveRecord } from './move-records.ts';
import type { AppEdgeSettings } from '../../protocol/app-edge-settings.ts';
import type { Resources } from '../../protocol/workload.ts';

export type DeploySource = 'UPLOAD' | 'GIT' | 'IMAGE' | 'COMPOSE';
export type AppStatus = 'idle' | 'queued' | 'building' | 'active' | 'stopped' | 'error';

export interface BuildConfig {
  buildCommand: string | null;
  startCommand: string | null;
  dockerfile: string | null;
  outputDir: string | null;
  nodeVersion: string | null;
  port: number | null;
  healthPath: string | null;
}

export interface GitSource {
  connectionId: string | null;
  repository: string;
  branch: string;
  path: string | null;
  /** Files and folders of the repository; only a push that changes one of them deploys. Absent: any does. */
  watchPaths?: string[];
  /** Whether submodules are fetched, too; absent: they are not. */
  submodules?: true;
}

export interface StoredUpload {
  filename: string;
  sizeBytes: number;
  sha256: string;
  format: 'tar' | 'tar.gz' | 'zip';
  uploadedAtMs: number;
  /** File name below the app's upload folder. */
  blob: string;
}

export interface AppRecord {
  id: string;
  teamId: string;
  slug: string;
  name: string;
  source: DeploySource;
  status: AppStatus;
  folderId: string | null;
  serverId: string;
  upload: StoredUpload | null;
  git: GitSource | null;
  image: string | null;
  compose: string | null;
  build: BuildConfig;
  resources: Resources;
  previewBranches: string[];
  autoDeploy: boolean;
  deployHookEnabled: boolean;
  /** SHA-256 of the hook's URL token, hex, and the token itself, sealed. */
  hookHash: string;
  hookSealed: Uint8Array;
  latestDeploymentId: string | null;
  /** The deployment whose release is current: it takes the traffic while the app runs. */
  liveDeploymentId: string | null;
  /** What runs of it. */
  run: AppRun;
  /** Whether it should run: false after `stopApp`. */
  desired: 'running' | 'stopped';
  /** The uid of its processes alone, where the instance runs as root. */
  uid: number;
  createdAtMs: number;
  updatedAtMs: number;
  /** In trash since; null when it is not. */
  deletedAtMs: number | null;
  /** Absent: it was never moved. */
  move?: MoveRecord;
  /** Verified domains that lead to it, the primary first; absent: none, and never any. */
  hosts?: AppHost[];
  /** How the edge treats its visitors; absent: as by default. */
  edge?: AppEdgeSettings;
  /** What it is a preview of; absent: it is an app of its own. */
  previewOf?: PreviewSource;
}

/** A host that leads to an app besides the one that every app has. */
export interface AppHost {
  /** As `DomainRecord.host`. */
  host: string;
  /** Another of them that answers; absent: the host leads to the app itself. */
  redirectTo?: string;
  /** Whether all is done for it. */
  isActive?: true;
  /** Whether it had one that had not run out when this was looked at, each day at least. */
  hasCertificate?: true;
}

/** The branch of an app that a preview shows. */
export interface PreviewSource {
  appId: string;
  branch: string;
  /** The one commit that may be deployed. */
  commitSha: string;
}

/** One start of a release: what the driver runs under `workloadId`. */
export interface Instance {
  deploymentId: string;
  /** Never used twice, so that the log and exit code of a start are never taken for another's. */
  workloadId: string;
  /** Where it is reached. */
  host: string;
  /** What it gets as PORT. It is reached here unless there is a `targetPort`. */
  port: number;
  targetPort?: number;
  startedAtMs: number;
  /** The image it runs in, as people name it; absent: it runs as programs of the machine. */
  image?: string;
  /** Of a stack: the name of the service that takes the traffic. */
  service?: string;
  /** Of a stack: its other services, in the order of their start. */
  parts?: InstancePart[];
}

export interface InstancePart {
  service: string;
  workloadId: string;
  image: string;
}

/** The instances of an app, journaled before the driver is told of them. */
export interface AppRun {
  /** Counts the instances ever named. */
  seq: number;
  /** Takes the traffic. */
  live: Instance | null;
  /** Is being started; takes over once it is healthy. */
  next: Instance | null;
  /** Took the traffic before; stopped at `stopAtMs`. */
  draining: (Instance & { stopAtMs: number })[];
  /** The live instance ended by itself and does not listen again yet. */
  crashing: boolean;
  /** Ends that nobody asked for; absent: none. */
  crashes?: AppCrashes;
  /** On a driver of containers, volumes that a restore made, by their names in backups; absent: none. */
  volumes?: Readonly<Record<string, string>>;
  /** Those before them, while a restore may still put them back; absent: there is none. */
  volumesBefore?: Readonly<Record<string, string>>;
}

/** What is kept of ends of live instances that nobody asked for. */
export interface AppCrashes {
  /** Of the live release since it became live. */
  restarts: number;
  last: AppExit | null;
  /** How far ends have been counted, for each workload of the live instance that had any. */
  counted: {
    workloadId: string;
    /** As the driver counts. */
    ends: number;
    /** As they were reported; only ascends. */
    told: number;
    /** When the last one was. */
    atMs: number;
  }[];
}

export interface AppExit {
  atMs: number;
  /** Null where a signal ended it, or nobody knows. */
  code: number | null;
  signal: string | null;
  reason: 'exited' | 'killed' | 'out_of_memory' | 'unhealthy';
  /** Whose lines stand in this log. */
  workloadId: string;
  log: string;
  /** How many ends came soon after one another. */
  inRow: number;
  /** The number of this end of the workload, and what the log says of it. */
  told: number;
  text: string;
}

export type EnvTarget = 'production' | 'preview';

export interface EnvRecord {
  id: string;
  appId: string;
  key: string;
  isSecret: boolean;
  /** The value when it is no secret, else null. */
  value: string | null;
  /** The secret value, sealed; else null. */
  sealed: Uint8Array | null;
  masked: string;
  targets: EnvTarget[];
  /** Databases that the value refers to, sealed or not; absent: none. */
  refersTo?: string[];
  updatedAtMs: number;
}

// prettier-ignore
export type DeploymentStatus =
  | 'queued' | 'building' | 'starting' | 'ready' | 'failed' | 'canceled' | 'superseded';
export type DeploymentTrigger =
  'dashboard' | 'api' | 'deploy_hook' | 'git_push' | 'mcp' | 'rollback';

export interface DeploymentRecord {
  id: string;
  appId: string;
  teamId: string;
  status: DeploymentStatus;
  trigger: DeploymentTrigger;
  url: string | null;
  commitSha: string | null;
  commitMessage: string | null;
  /** `name <address>`; absent: it is of no commit, or nobody knows. */
  commitAuthor?: string;
  branch: string | null;
  error: string | null;
  /** The upload it was built from. */
  upload: StoredUpload | null;
  /** For a rollback: the deployment whose release runs again. */
  rollbackOf: string | null;
  /** The release kept on disk: its folder's name; null once it is gone. */
  release: string | null;
  /** How the release starts, once detected. */
  plan: ReleasePlan | null;
  /** The workload that builds it; journaled before it starts. */
  buildJob: string | null;
  createdAtMs: number;
  startedAtMs: number | null;
  finishedAtMs: number | null;
  /** While it waits for a build slot: its turn among those of all teams. */
  buildTurn?: number;
  /** Whether it ends where the commit that it finds is live already: nobody but a push asked for it. */
  unlessLive?: true;
}

/** How a release is started. Build detection decides it; it is kept for restart and rollback. */
export interface ReleasePlan {
  kind:
    | 'node'
    | 'static'
    | 'procfile'
    | 'python'
    | 'go'
    | 'command'
    | 'dockerfile'
    | 'image'
    | 'compose';
  /**
   * A shell command line, run in the release's folder or in its image. Null: files are served from
   * `staticDir`, or the image says itself what it runs.
   */
  startCommand: string | null;
  /** Folder of static files, relative to the release. */
  staticDir: string | null;
  /** Absent: the release is a folder, and runs as programs of the machine. */
  image?: ReleaseImage;
  /** Of a compose file; `image` is that of its main service. */
  stack?: ReleaseStack;
}

export interface ReleaseStack {
  /** The text, as it was deployed. */
  compose: string;
  /** The service that takes the traffic. */
  main: string;
  /** By service. */
  images: Record<string, Omit<ReleaseImage, 'port'>>;
}

/** What a release runs in, on a driver of containers. */
export interface ReleaseImage {
  /** As the driver named it. */
  name: string;
  /** What people know it as: the image that was asked for, or the name. */
  label: string;
  /** The port its program listens on inside; null: the one that is chosen at its start. */
  port: number | null;
  /**
   * Where it was pulled from, with its digest where the registry said one; null: it was built here.
   */
  pulled: string | null;
}

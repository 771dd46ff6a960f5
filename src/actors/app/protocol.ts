/**
 * Owns the messages of the `app` actor: the only way an app, its variables, its deployments and its
 * deploy hook change. Who may send them was decided before; the actor checks the state of things.
 */
import type {
  AppRecord,
  BuildConfig,
  DeploymentRecord,
  DeploymentTrigger,
  DeploySource,
  EnvRecord,
  EnvTarget,
  GitSource,
  StoredUpload,
} from '../../store/records/records.ts';
import type { Resources, Workload } from '../../protocol/workload.ts';
import { type Actor, actorKind } from '../runtime/actor.ts';

export interface EnvEntry {
  key: string;
  value: string;
  isSecret: boolean;
  targets: EnvTarget[];
}

export interface NewApp {
  teamId: string;
  name: string;
  source: DeploySource;
  folderId: string | null;
  serverId: string | null;
  git: GitSource | null;
  image: string | null;
  compose: string | null;
  build: Partial<BuildConfig>;
  resources: Partial<Resources>;
  env: EnvEntry[];
}

/** Absent means unchanged. */
export interface AppPatch {
  name?: string;
  folderId?: string | null;
  autoDeploy?: boolean;
  build?: Partial<BuildConfig>;
  git?: GitSource;
  image?: string;
  compose?: string;
  resources?: Partial<Resources>;
  previewBranches?: string[];
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type AppProtocol = {
  /** Refused: CONFLICT, BAD_USER_INPUT, UNSUPPORTED_SOURCE. The actor's id is the new app's. */
  create: { in: { app: NewApp }; out: AppRecord };
  update: { in: { patch: AppPatch }; out: AppRecord };
  /** Stops it and moves it to trash for 7 days. */
  delete: { in: object; out: boolean };
  restore: { in: object; out: boolean };
  purge: { in: object; out: boolean };

  /** Queues a deployment, or returns the one already queued. NOT_DEPLOYABLE without a source. */
  redeploy: {
    in: { trigger: DeploymentTrigger; commitSha?: string; branch?: string };
    out: DeploymentRecord;
  };
  /** The hook: HOOK_DISABLED, NOT_FOUND for a wrong token (SHA-256, hex). */
  hook: { in: { tokenHash: string }; out: { deployment: DeploymentRecord; url: string } };
  cancel: { in: { deploymentId: string }; out: boolean };
  rollback: { in: { deploymentId: string; trigger: DeploymentTrigger }; out: DeploymentRecord };
  start: { in: object; out: AppRecord };
  stop: { in: object; out: AppRecord };
  restart: { in: object; out: AppRecord };

  /**
   * Reserves the app for one upload: UPLOAD_IN_PROGRESS, DEPLOY_IN_PROGRESS, NOT_AN_UPLOAD_APP. The
   * reservation ends with `upload-commit`, `upload-abort`, or the death of this process. `dir` and
   * `name` say where the file has to arrive.
   */
  'upload-begin': { in: { uploadId: string }; out: { dir: string; name: string } };
  /** The validated file has arrived: puts it in its place, and the app points at it from now on. */
  'upload-commit': { in: { uploadId: string; upload: StoredUpload }; out: AppRecord };
  /** Ends the upload, also one whose commit failed: nothing of its file is left. */
  'upload-abort': { in: { uploadId: string }; out: boolean };

  'env-upsert': { in: { entries: EnvEntry[] }; out: EnvRecord[] };
  'env-delete': { in: { key: string }; out: boolean };
  'env-reveal': { in: { key: string }; out: string };
  'hook-reveal': { in: object; out: { token: string } };
  'hook-rotate': { in: object; out: { token: string } };
  'hook-enable': { in: { enabled: boolean }; out: AppRecord };

  /**
   * A database has another password: what runs and was told the one before is restarted, behind what is
   * under way. Whether it is restarted now.
   */
  'database-rotated': { in: { databaseId: string; name: string }; out: boolean };

  /** Wakes it at start: it resumes or fails what was under way, and starts what should run. */
  wake: { in: object; out: boolean };
  /** The queue: a build slot is there for it. */
  'build-turn': { in: { deploymentId: string }; out: boolean };
  /** The driver says that a workload of this app changed. */
  workload: { in: { workload: Workload }; out: boolean };
  workloads: { in: { workloads: Workload[] }; out: boolean };
  /** An alarm: what should run and does not is started again. */
  recover: { in: object; out: boolean };
};

/** The handlers of one concern. */
export type Handlers = Partial<Actor<AppProtocol>>;

export const appActor = actorKind<AppProtocol>('app');

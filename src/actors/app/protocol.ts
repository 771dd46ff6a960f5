/**
 * Owns the messages of the `app` actor: the only way to change an app, its variables, its deployments and
 * its deploy hook. The sender's rights were checked before; the actor checks the state.
 */
import type {
  AppRecord,
  BuildConfig,
  DeploymentRecord,
  DeploymentTrigger,
  DeploySource,
  EnvRecord,
  EnvTarget,
  GitDeliveryRecord,
  GitSource,
  PreviewRecord,
  PreviewSource,
  StoredUpload,
} from '../../store/records/records.ts';
import type { AppEdgeSettings } from '../../protocol/app-edge-settings.ts';
import type { Resources, Workload } from '../../protocol/workload.ts';
import type { MoveProtocol } from '../move/protocol.ts';
import type { RestoreProtocol } from '../restore/protocol.ts';
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

/** Null sets a field back. */
export type AppEdgePatch = { [K in keyof AppEdgeSettings]?: AppEdgeSettings[K] | null };

/** An absent field stays unchanged. */
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
  edge?: AppEdgePatch;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type AppProtocol = RestoreProtocol &
  MoveProtocol<AppRecord> & {
    /** Refused with CONFLICT, BAD_USER_INPUT, UNSUPPORTED_SOURCE. The actor's id is the new app's. */
    create: { in: { app: NewApp }; out: AppRecord };
    update: { in: { patch: AppPatch }; out: AppRecord };
    /** Stops the app and moves it to trash for 7 days. */
    delete: { in: object; out: boolean };
    restore: { in: object; out: boolean };
    purge: { in: object; out: boolean };

    /** Queues a deployment, or returns the one already queued. NOT_DEPLOYABLE without a source. */
    redeploy: {
      in: { trigger: DeploymentTrigger; commitSha?: string; branch?: string };
      out: DeploymentRecord;
    };
    /** The hook was called: HOOK_DISABLED, or NOT_FOUND for a wrong token (SHA-256, hex). */
    hook: { in: { tokenHash: string }; out: { deployment: DeploymentRecord; url: string } };
    /**
     * A git provider delivered a push; `byHand`: a person deploys it again, or gets CONFLICT. Answers what came of
     * it, which the app has stored where it is `deployed`.
     */
    'git-push': {
      in: { delivery: GitDeliveryRecord; byHand: boolean };
      out: GitDeliveryRecord;
    };
    /**
     * Somebody who may deploy the app pushed a branch here, other than the app's, or removed it (null). Null: the branch has
     * no preview.
     */
    'preview-push': { in: { branch: string; commitSha: string | null }; out: PreviewRecord | null };
    /** CONFLICT for one that does not wait for it. */
    'preview-approve': { in: { previewId: string }; out: PreviewRecord };
    'preview-close': { in: { previewId: string }; out: PreviewRecord };
    /** An alarm: closes previews that were idle for too long. */
    'previews-due': { in: object; out: boolean };
    /**
     * To the app that runs a preview, by the one that it is of: it is made where it is not there, has the settings of that
     * app, and deploys this commit, once. NOT_FOUND, and what `create` and `redeploy` refuse.
     */
    'preview-show': { in: PreviewSource & { commitMessage: string | null }; out: AppRecord };
    /** Stops and removes it for good; false: it is not done yet. `isForced`: waits for nothing. */
    'preview-remove': { in: { isForced: boolean }; out: boolean };
    cancel: { in: { deploymentId: string }; out: boolean };
    rollback: { in: { deploymentId: string; trigger: DeploymentTrigger }; out: DeploymentRecord };
    start: { in: object; out: AppRecord };
    stop: { in: object; out: AppRecord };
    restart: { in: object; out: AppRecord };

    /**
     * Reserves the app for one upload: UPLOAD_IN_PROGRESS, DEPLOY_IN_PROGRESS, NOT_AN_UPLOAD_APP. The
     * reservation ends with `upload-commit`, `upload-abort`, or the death of this process. `dir` and `name`
     * say where the file has to arrive.
     */
    'upload-begin': { in: { uploadId: string }; out: { dir: string; name: string } };
    /** The validated file has arrived. Renames it, and lets the app point at it. */
    'upload-commit': { in: { uploadId: string; upload: StoredUpload }; out: AppRecord };
    /** Ends the upload and removes its file, even after a failed commit. */
    'upload-abort': { in: { uploadId: string }; out: boolean };

    'env-upsert': { in: { entries: EnvEntry[] }; out: EnvRecord[] };
    'env-delete': { in: { key: string }; out: boolean };
    'env-reveal': { in: { key: string }; out: string };
    'hook-reveal': { in: object; out: { token: string } };
    'hook-rotate': { in: object; out: { token: string } };
    'hook-enable': { in: { enabled: boolean }; out: AppRecord };

    /**
     * A database has another password. If a running instance uses the old one, the app restarts after the
     * work under way. Answers whether it restarts now.
     */
    'database-rotated': { in: { databaseId: string; name: string }; out: boolean };

    /** Its domains changed: it reads them, and has the edge lead them to it. */
    domains: { in: object; out: boolean };

    /** Wakes the app at start: it resumes or fails what was under way, and starts what should run. */
    wake: { in: object; out: boolean };
    /** The build queue has a slot for the deployment. */
    'build-turn': { in: { deploymentId: string }; out: boolean };
    /** The driver reports that a workload of this app changed. */
    workload: { in: { workload: Workload }; out: boolean };
    workloads: { in: { workloads: Workload[] }; out: boolean };
    /** An alarm: starts again what should run and does not. */
    recover: { in: object; out: boolean };
  };

/** The handlers of one concern. */
export type Handlers = Partial<Actor<AppProtocol>>;

export const appActor = actorKind<AppProtocol>('app');

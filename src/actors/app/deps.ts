/** Owns the dependencies and limits of the app actor. */
import type { GitFetch } from '../../git/fetching/fetch.ts';
import type { GitRemote } from '../../git/providers/provider.ts';
import type { AppRecord, DeploymentRecord, PreviewRecord } from '../../store/records/records.ts';
import type { BuildQueue } from './deploying/build-queue.ts';
import type { BaseImages } from './build/plan.ts';
import { type Bounds, trashMs, type WorkloadDeps, type WorkloadOptions } from '../workload/deps.ts';
import type { Check } from './running/health.ts';

export interface ContainerOptions {
  images: BaseImages;
  /** Whether the operator left `images.node` at its default. Only then may an app choose its version. */
  isDefaultNode: boolean;
  /** The program that serves static releases, as text. */
  staticServer: () => Promise<string>;
}

export interface AppOptions extends WorkloadOptions, Bounds<typeof appDefaults> {
  /** `<uploadsRoot>/<app id>/<blob>`; no app may reach it. */
  uploadsRoot: string;
  containers: ContainerOptions;
  /** The host name that every app has, and the address that people open. */
  hostOf: (slug: string) => string;
  /** Whether the host is that of the panel, which no app may have. */
  isPanelHost: (host: string) => boolean;
  urlOf: (app: Readonly<AppRecord>) => string;
}

export const appDefaults = {
  extractTimeoutMs: 10 * 60_000,
  buildTimeoutMs: 30 * 60_000,
  healthTimeoutMs: 60_000,
  drainMs: 10_000,
  stopGraceMs: 10_000,
  /** Releases kept on disk for a rollback. */
  releasesKept: 3,
  /** Finished deployments kept in the history of an app, with their build logs. */
  deploymentsKept: 200,
  trashMs,
} as const;

export interface GitDeps {
  fetch: GitFetch['fetch'];
  pushed: GitFetch['pushed'];
  /** Removes the repository that people pushed to. */
  forget: (appId: string) => Promise<void>;
  /** Where an app with source GIT is fetched from. Rejects with NOT_DEPLOYABLE and GIT_PROVIDER_FAILED. */
  remoteOf: (app: Readonly<AppRecord>) => Promise<GitRemote>;
  /** Why nothing can be fetched from an address, for people; null: nothing is known against it. */
  flawOf: (url: string) => string | null;
  /** Whether who pushed to a preview is a collaborator; false where the provider does not answer. */
  mayPush: (preview: Readonly<PreviewRecord>) => Promise<boolean>;
  /** Tells the provider what becomes of a commit. Nobody waits for it, and it never throws. */
  tellStatus: (app: Readonly<AppRecord>, deployment: Readonly<DeploymentRecord>) => void;
}

export interface AppDeps extends WorkloadDeps {
  git: GitDeps;
  buildQueue: BuildQueue;
  options: AppOptions;
  /** Checks whether an instance is well. A test brings its own. */
  check?: Check;
}

/** Owns the shapes of what is stored of git: connections to providers, and what they delivered. */

/** The providers of connections; `src/git/providers` knows what each of them does. */
export type GitProviderKind =
  'gitlab' | 'gitea' | 'forgejo' | 'gogs' | 'bitbucket' | 'generic' | 'github';

/** A team's connection to a git provider. */
export interface GitConnectionRecord {
  id: string;
  teamId: string;
  provider: GitProviderKind;
  label: string;
  /** `https://host/path`, without a slash at its end. */
  baseUrl: string;
  /** Null: the provider's own for tokens. */
  username: string | null;
  /** What repositories are read with, sealed; null: only public ones. */
  tokenSealed: Uint8Array | null;
  /** What deliveries are signed with, sealed. */
  secretSealed: Uint8Array | null;
  /** SHA-256 of the URL token of its webhook, hex. */
  hookHash: string;
  /** Of GitHub alone, where there is no token: one is got for each installation of the App. */
  github?: GithubAppRecord;
  createdAtMs: number;
}

/** The App by which a team is connected to GitHub. */
export interface GithubAppRecord {
  /** As GitHub numbers Apps. */
  appId: number;
  /** The page about it. */
  htmlUrl: string;
  /** What it signs with: PEM, sealed. */
  keySealed: Uint8Array;
}

/** What came of a delivery for one app. */
export type GitOutcome =
  /** It is journaled, and the app has not looked at it. */
  | 'received'
  /** A deployment was queued, or the queued one builds this commit now. */
  | 'deployed'
  /** The commit is live or queued. */
  | 'unchanged'
  /** A later push came before it. */
  | 'outdated'
  /** Its commit says `[skip ci]`. */
  | 'skipped'
  /** It changed nothing that the app watches. */
  | 'unwatched'
  | 'other_branch'
  | 'tag'
  | 'branch_deleted'
  | 'auto_deploy_off'
  /** A preview of its branch has it, or waits for approval of it. */
  | 'preview'
  /** The app cannot be deployed. */
  | 'failed';

/** A push that a provider delivered, for one app of its repository. */
export interface GitDeliveryRecord {
  /** In the order in which they came. */
  id: string;
  connectionId: string;
  teamId: string;
  appId: string;
  event: 'push' | 'tag' | 'delete';
  /** As the provider names it; null where it does not. */
  deliveryId: string | null;
  refKind: 'branch' | 'tag';
  refName: string;
  /** Null: the ref was new, or nobody says. */
  before: string | null;
  /** Null: the ref was deleted. */
  commitSha: string | null;
  commitMessage: string | null;
  /** When it was committed; null where nobody says. */
  committedAtMs: number | null;
  pusher: string | null;
  /** Whether it changed nothing that the app watched when it came; absent: it did, or nobody says. */
  isUnwatched?: true;
  outcome: GitOutcome;
  receivedAtMs: number;
  deploymentId: string | null;
}

export type PreviewPhase =
  /** Whether its pusher is a collaborator is being asked. */
  | 'checking'
  /** Somebody has to approve its commit. */
  | 'waiting'
  | 'open'
  | 'closing'
  | 'closed';

/** An app's branch that is shown at an address of its own. */
export interface PreviewRecord {
  /** Also that of the app that runs it. */
  id: string;
  /** The app that it is a preview of. */
  appId: string;
  teamId: string;
  branch: string;
  /** Where its branch is; null: people push it here. */
  connectionId: string | null;
  repository: string;
  phase: PreviewPhase;
  /** The newest that was pushed. */
  commitSha: string;
  commitMessage: string | null;
  pusher: string | null;
  /** Whether an app runs it, or is made for it. */
  hasApp: boolean;
  /** Whether something is left to be done for it. */
  isPending: boolean;
  createdAtMs: number;
  /** Of the last push, approval or end. */
  updatedAtMs: number;
}

/**
 * Owns what a git provider is to the rest of the program: how its deliveries are signed and read, where a
 * repository is cloned from, which repositories there are, who may push to them, and what is told of a commit.
 */

/** Those that `connectGitProvider` takes. GitHub is connected by its App. */
export const connectableKinds = [
  'gitlab',
  'gitea',
  'forgejo',
  'gogs',
  'bitbucket',
  'generic',
] as const;
export type ProviderKind = (typeof connectableKinds)[number] | 'github';

/** A header of the delivery by its lower-case name; '' when absent. */
export type HeaderOf = (name: string) => string;

/** A branch or a tag moved. */
export interface PushDelivery {
  event: 'push' | 'tag' | 'delete';
  /** Null where the provider sends none. */
  deliveryId: string | null;
  /** The full name, such as `owner/name`. */
  repository: string;
  /** As the provider tells them; of any form. */
  cloneUrls: string[];
  ref: { kind: 'branch' | 'tag'; name: string };
  /** Null: the ref is new, or nobody says. */
  before: string | null;
  /** Null: the ref was deleted. */
  after: string | null;
  created: boolean;
  /** False also where nobody says. */
  forced: boolean;
  /** Null where the payload does not hold the commit. */
  commit: PushedCommit | null;
  /** Null where nobody says. */
  pusher: string | null;
  /** The files that changed; null where not all of them are told. */
  files: string[] | null;
}

export interface PushedCommit {
  message: string;
  author: string | null;
  /** Null where nobody says. */
  atMs: number | null;
}

/** Where a repository is fetched from. */
export interface GitRemote {
  /** `https://host/owner/name.git`, without a user. */
  url: string;
  /** Null for a public repository. */
  credentials: { username: string; secret: string } | null;
}

export interface GitRepository {
  fullName: string;
  defaultBranch: string;
  private: boolean;
}

/** What a provider needs of a connection. */
export interface ProviderConnection {
  /** Without a slash at its end. */
  baseUrl: string;
  username: string | null;
  token: string | null;
}

/** The way to a provider's API. Rejects with GIT_PROVIDER_FAILED. */
export interface ProviderApi {
  /** `refusals`: what a status means here, in a sentence. */
  json(
    url: string,
    headers: AskHeaders,
    refusals?: Readonly<Record<number, string>>,
  ): Promise<unknown>;
  /** Undefined: it is not there (404); null: it is not told to this token (401, 403). */
  find(url: string, headers: AskHeaders): Promise<unknown>;
}

/** Also sends something. */
export interface PostingApi extends ProviderApi {
  /** `body` goes as JSON. Null for an answer without a body. */
  post(url: string, headers: AskHeaders, body: unknown): Promise<unknown>;
}

/** What became of a commit. */
export interface CommitStatus {
  state: 'pending' | 'success' | 'failure';
  /** At most 140 characters. */
  description: string;
  /** Tells the statuses of several apps apart. */
  context: string;
  url: string | null;
}

export type AskHeaders = Readonly<Record<string, string>>;

export interface Provider {
  readonly kind: ProviderKind;
  /** Whether the raw body is the provider's own, by the secret. In constant time. */
  verify(header: HeaderOf, body: Uint8Array, secret: string | null): boolean;
  /** What moved, in order; nothing for a ping and other events. Throws BAD_USER_INPUT. */
  pushes(header: HeaderOf, body: Uint8Array): PushDelivery[];
  /** `repository`: its full name. */
  remote(connection: ProviderConnection, repository: string): GitRemote;
  /** Those that the token reaches, at most 100; `search` is part of their full name. */
  repositories(
    connection: ProviderConnection,
    search: string,
    api: Pick<ProviderApi, 'json'>,
  ): Promise<GitRepository[]>;
  /**
   * Whether a person, named as deliveries name who pushed, may push to a repository; null where the token is not told.
   * Null: nobody can be asked.
   */
  readonly mayPush:
    | ((
        connection: ProviderConnection,
        repository: string,
        person: string,
        api: Pick<ProviderApi, 'find'>,
      ) => Promise<boolean | null>)
    | null;
  /** Shows a status at a commit, and so at the pull requests with this head; null: it has none. */
  readonly report:
    | ((
        connection: ProviderConnection,
        repository: string,
        sha: string,
        status: CommitStatus,
        api: Pick<PostingApi, 'post'>,
      ) => Promise<unknown>)
    | null;
}

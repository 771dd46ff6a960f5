/** Owns what is fetched from, as plain data. */

/** What an app's GIT source is fetched with. */
export interface GitRemote {
  /** https://host/owner/name.git; where it leads is checked as it is asked. */
  url: string;
  /** Sent in a header alone. Null: the repository is public. */
  credentials: { username: string; secret: string } | null;
}

/** A commit of a branch. */
export interface GitCommit {
  sha: string;
  /** `name <address>` as the commit has it. */
  author: string;
  message: string;
}

/** A commit of a branch, as plain data. */
export interface GitCommit {
  sha: string;
  /** `name <address>` as the commit has it. */
  author: string;
  message: string;
}

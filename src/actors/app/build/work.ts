/** Owns what the ways of building a release share. */
import type { GitCommit } from '../../../git/fetching/commit.ts';
import type { AppRecord, DeploymentRecord, ReleasePlan } from '../../../store/records/records.ts';
import type { AppCore } from '../core.ts';

export interface BuildWork {
  core: AppCore;
  app: AppRecord;
  deployment: DeploymentRecord;
  signal: AbortSignal;
  /** Writes to the deployment's log. */
  say: (line: string) => void;
  /** Journals the plan before the build job starts. */
  planned: (plan: ReleasePlan, buildJob: string | null) => Promise<void>;
  /** Journals of which commit it is made, before anything of it is unpacked. */
  committed: (commit: GitCommit) => Promise<void>;
}

export function tookTooLong(timeoutMs: number): string {
  return `The build took longer than ${String(Math.round(timeoutMs / 60_000))} minutes.`;
}

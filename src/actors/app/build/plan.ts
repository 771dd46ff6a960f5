/** Owns what build detection works with and what it comes to. */
import type { ReleasePlan } from '../../../store/records/records.ts';

export interface BuildTools {
  /** Folders of PATH, in order. */
  path: readonly string[];
  /** Such as `22.23.3`. */
  nodeVersion: string;
}

export interface BaseImages {
  node: string;
  python: string;
  go: string;
  /** What a compiled program runs in. */
  base: string;
}

export interface BuildPlan {
  /** What is built, for the log: `package.json`, `Procfile`, … */
  found: string;
  /** Whose tools it needs; null: a shell is enough. */
  language: 'node' | 'python' | 'go' | null;
  /** Shell command lines, run one after the other in the release's folder. */
  steps: string[];
  /** So many of the first steps bring packages and do nothing else. */
  installs: number;
  notes: string[];
  /** Without command and folder: files to serve are looked for once it is built. */
  release: ReleasePlan;
}

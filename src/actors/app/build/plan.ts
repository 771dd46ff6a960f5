/** Owns the input and the result of build detection. */
import type { ReleasePlan } from '../../../store/records/records.ts';

export interface BuildTools {
  /** Whether the machine has this program. */
  has: (program: string) => Promise<boolean>;
  /** Such as `22.23.3`. */
  nodeVersion: string;
}

export interface BaseImages {
  node: string;
  python: string;
  go: string;
  /** The image that a compiled program runs in. */
  base: string;
}

export interface BuildPlan {
  /** What the source was recognised by, for the log: `package.json`, `Procfile`, … */
  found: string;
  /** The language whose tools the build needs; null: a shell is enough. */
  language: 'node' | 'python' | 'go' | null;
  /** Shell command lines, run one after the other in the release's folder. */
  steps: string[];
  /** How many of the first steps only install packages. */
  installs: number;
  notes: string[];
  /** Without command and folder: the static files are looked for after the build. */
  release: ReleasePlan;
}

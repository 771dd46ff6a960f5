/** Owns what a terminal or a command needs to know of the workload that it runs beside. */
import type { Part } from './isolation/compartment.ts';

export interface Ground {
  id: string;
  /** Whose share of commands and terminals it takes: its team's, else its owner's. */
  tenant: string;
  /** The workload's own folder here, closed to it. */
  dir: string;
  mark: string;
  env: Readonly<Record<string, string>>;
  uid: number | null;
  workingDir: string;
  /** Whether the process that is started for a part waits outside for the one that runs there. */
  waits: boolean;
  /** Where it runs, within the workload's limits. `name`: unlike that of any other part. Throws NOT_RUNNING. */
  part(name: string): Part;
}

/** Owns what a terminal or a command needs to know of the workload that it runs beside. */
import type { ControlGroup } from '../../lib/processes/processes.ts';
import type { Place } from '../../protocol/terminal-messages.ts';

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
  /** For `confined`, so that it runs within the workload's limits and is counted with it. */
  place: Place | null;
  /** What holds the workload together; undefined: nothing does. */
  within: ControlGroup | undefined;
}

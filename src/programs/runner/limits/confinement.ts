/**
 * Owns what limits look like from outside: what a machine can enforce, and what one workload has.
 *
 * 1. A program is confined before its first instruction, so that nothing it starts is outside.
 * 2. What the machine cannot enforce is not enforced; the workload starts all the same.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { ControlGroup } from '../../../lib/processes/processes.ts';
import type { Resources } from '../../../protocol/workload.ts';
import type { Place } from '../../../protocol/terminal-messages.ts';

export interface GroupUsage {
  /** Nanoseconds since the workload's start. */
  cpuNs: number;
  /** Without what the kernel could give back at any time: file contents it keeps. */
  memoryBytes: number;
}

/** Its processes belong to the whole, too. */
export interface ConfinedPart extends ControlGroup {
  readonly place: Place;
  /** Forgets it, once its processes are gone; else the whole does when it ends. */
  close(): void;
}

export interface Confinement {
  /** Before a start: makes what the limits hang on; twice is fine. */
  open(): void;
  /** Where programs of it are to run, see `confined`; null when nothing confines. */
  readonly place: Place | null;
  /** Whether the kernel holds its processes together: nobody leaves, and nobody else comes in. */
  readonly holds: boolean;
  /** Processes known to be inside; no one else's. */
  pids(): number[];
  /** Ends all inside at once where the kernel can, else nobody. */
  kill(): void;
  /** A group inside, for what runs beside the program. Throws when this one is gone. Absent: there are none. */
  part?(name: string): ConfinedPart;
  /** Undefined where nothing inside is counted together. */
  usage(): GroupUsage | undefined;
  /** How often the kernel ended something inside for its memory, so far. */
  oomKills(): number;
  /** Tells once of programs inside that go on making processes beyond their number; returns what ends the watch. */
  watchForks(clock: Clock, tell: () => void): () => void;
  /** Forgets it, once its processes are gone, and says whether they are; twice is fine. */
  close(): boolean;
}

export interface Limits {
  /** For the log. */
  readonly kind: 'cgroup-v2' | 'cgroup-v1' | 'rlimits' | 'none';
  readonly missing: readonly ('memory' | 'cpus' | 'pids')[];
  /** `team`: whose part of the machine's memory it takes from; undefined: that of all. */
  confinementOf(id: string, resources: Resources, team?: string): Confinement;
  /** Ends and forgets what workloads other than these left behind. */
  sweep(known: ReadonlySet<string>): void;
  /** Leaves nothing of ours that is empty. */
  close(): void;
}

/** Of a workload that names no number: more than any honest app has, too few to choke a machine. */
export const defaultPidsMax = 2048;

export const mebibyte = 1024 * 1024;

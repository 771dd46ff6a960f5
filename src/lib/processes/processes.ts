/**
 * Owns which processes of the machine belong to a workload, told by /proc.
 *
 * 1. Where a control group holds the workload, its processes are those in the group, and its first process,
 *    which may not have joined yet. What others carry in their environment means nothing.
 * 2. Without a group, a process belongs to it when it carries the workload's mark in its environment, is in
 *    the session of the first process, or descends from such a process; where the workload has a uid of its
 *    own, only when it has that uid, too.
 * 3. With neither a group nor a uid this protects from accidents only: whoever wants to can carry a mark.
 */
import fs from 'node:fs';

export interface ProcessInfo {
  pid: number;
  ppid: number;
  group: number;
  session: number;
  /** Clock ticks from boot to its start: with the pid, one process for ever. */
  startTicks: number;
}

export interface FirstProcess {
  pid: number;
  startTicks: number;
}

/** The variable that marks every process of a workload. */
export const markVariable = 'GANGWAY_WORKLOAD';

/** The variable that marks what runs on one terminal, or for one command, in a workload. */
export const sessionVariable = 'GANGWAY_SESSION';

/** A control group: the kernel knows who is in it, and lets nobody else in. */
export interface ControlGroup {
  /** Without those that have ended and that nobody has waited for. */
  pids(): readonly number[];
  /** Ends all inside at once where the kernel can, else nobody. */
  kill(): void;
}

export interface Membership {
  /** Value of the mark, unique on this machine. */
  mark: string;
  /** The variable that holds it; default `markVariable`. */
  variable?: string;
  first: FirstProcess | null;
  /**
   * Whether the first process only waits outside for the program that it has started, and ends as that does.
   * A SIGTERM it hands on to the program.
   */
  waits?: boolean;
  /** The control group that holds it whole: every process in it belongs to the workload. */
  group?: ControlGroup | undefined;
  /** For a part of a workload, such as a command: the control group that holds the workload. */
  within?: ControlGroup | undefined;
  /** The uid that only this workload's owner has. */
  uid?: number | null;
}

/** Where the mark is looked for: we put it first, and a shell may move it behind other variables. */
const environmentMaxBytes = 128 * 1024;

/** Undefined when there is no such process, or only a zombie. */
export function readProcess(pid: number): ProcessInfo | undefined {
  let stat: string;
  try {
    stat = fs.readFileSync(`/proc/${String(pid)}/stat`, 'latin1');
  } catch {
    return undefined; // It ended meanwhile.
  }
  // The name stands in brackets and may hold anything, brackets too.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  if (state === undefined || state === 'Z' || state === 'X') return undefined;
  const at = (index: number): number => Number(fields[index]);
  return { pid, ppid: at(1), group: at(2), session: at(3), startTicks: at(19) };
}

/** Whether this very process lives, and not another one that was given its number. */
export function lives({ pid, startTicks }: FirstProcess): boolean {
  return readProcess(pid)?.startTicks === startTicks;
}

function readThese(pids: Iterable<number>): Map<number, ProcessInfo> {
  const found = new Map<number, ProcessInfo>();
  for (const pid of pids) {
    const info = pid === process.pid ? undefined : readProcess(pid);
    if (info) found.set(pid, info);
  }
  return found;
}

export function allPids(): number[] {
  return fs.readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** The processes of a workload that live now, without this process. */
export function findMembers(membership: Membership): ProcessInfo[] {
  const { group, within, first } = membership;
  const held = (group ?? within)?.pids();
  const all = readThese(held === undefined ? allPids() : new Set([...held, first?.pid ?? 0]));
  // With its start time the number is no other process's.
  const isFirst = ({ pid, startTicks }: ProcessInfo): boolean =>
    pid === first?.pid && startTicks === first.startTicks;
  if (group !== undefined) {
    const inside = new Set(held);
    return [...all.values()].filter((info) => inside.has(info.pid) || isFirst(info));
  }
  const belongs = signOf(membership, all);
  const members = new Map<number, ProcessInfo>();
  for (const info of all.values()) {
    if (isFirst(info) || belongs(info)) members.set(info.pid, info);
  }
  for (let grew = members.size > 0; grew;) {
    grew = false;
    for (const info of all.values()) {
      if (members.has(info.pid) || !members.has(info.ppid)) continue;
      members.set(info.pid, info);
      grew = true;
    }
  }
  return [...members.values()];
}

/** The numbers of `findMembers`. Those of a group cost one look at it, however many they are. */
export function memberPids(membership: Membership): number[] {
  const { group, first } = membership;
  if (group === undefined) return findMembers(membership).map(({ pid }) => pid);
  const pids = new Set(group.pids());
  if (first !== null && !pids.has(first.pid) && lives(first)) pids.add(first.pid);
  pids.delete(process.pid);
  return [...pids];
}

/** Whether a process shows by its session, or by its mark, that it belongs to the workload. */
function signOf(
  { mark, variable = markVariable, first, uid = null, within }: Membership,
  all: ReadonlyMap<number, ProcessInfo>,
): (info: ProcessInfo) => boolean {
  // While a session lives, its number is not given to another process. When another process has that
  // number, the session is gone and the number means nothing.
  const holder = first ? all.get(first.pid) : undefined;
  const session =
    first && (!holder || holder.startTicks === first.startTicks) ? first.pid : undefined;
  const needle = Buffer.from(`${variable}=${mark}\0`);
  return (info) => {
    if (uid !== null && within === undefined && uidOf(info.pid) !== uid) return false;
    const inSession =
      session !== undefined &&
      (info.session === session || info.group === session) &&
      info.startTicks >= (first?.startTicks ?? 0);
    return inSession || carriesMark(info, needle);
  };
}

/** The effective one; undefined for a process that has ended. */
function uidOf(pid: number): number | undefined {
  return fs.statSync(`/proc/${String(pid)}`, { throwIfNoEntry: false })?.uid;
}

function carriesMark(info: ProcessInfo, needle: Buffer): boolean {
  if (info.ppid === 2 || info.pid === 2) return false; // The kernel's own.
  try {
    const environment = readStart(`/proc/${String(info.pid)}/environ`, environmentMaxBytes);
    for (
      let at = environment.indexOf(needle);
      at !== -1;
      at = environment.indexOf(needle, at + 1)
    ) {
      if (at === 0 || environment[at - 1] === 0) return true;
    }
    return false;
  } catch {
    return false; // It ended meanwhile, or belongs to someone we may not look at.
  }
}

/** A program may give itself an environment of gigabytes. */
function readStart(file: string, maxBytes: number): Buffer {
  const fd = fs.openSync(file, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let room = maxBytes; room > 0;) {
      const chunk = Buffer.allocUnsafe(Math.min(room, 8192));
      const count = fs.readSync(fd, chunk);
      if (count === 0) break;
      chunks.push(chunk.subarray(0, count));
      room -= count;
    }
    return Buffer.concat(chunks);
  } finally {
    fs.closeSync(fd);
  }
}

/** Sends a signal; false when there is no such process any more. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false; // ESRCH: gone, which is what a signal is for.
  }
}

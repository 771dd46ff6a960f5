/**
 * Owns the look at the machine's processes through /proc: which of them belong to a workload.
 *
 * A process belongs to it when it carries its mark in the environment it was started with, or is in
 * the session or group of its first process, or descends from one that does. A program may wipe its
 * environment or leave its session; it cannot easily do all of that at once and be an orphan. Where it
 * is confined to a control group, it cannot leave at all.
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

export interface Membership {
  /** Value of the mark, unique on this machine. */
  mark: string;
  /** The variable that holds it; default `markVariable`. */
  variable?: string;
  first: FirstProcess | null;
  /** What it is confined to: whoever is inside belongs to it, whatever became of its mark. */
  group?: { pids(): readonly number[]; kill(): void };
}

/** Undefined when there is no such process, or only what is left of one. */
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

function readAll(): Map<number, ProcessInfo> {
  const all = new Map<number, ProcessInfo>();
  for (const name of fs.readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const info = readProcess(pid);
    if (info) all.set(pid, info);
  }
  return all;
}

/** The processes of a workload that live now; none of this program itself. */
export function findMembers(membership: Membership): ProcessInfo[] {
  const all = readAll();
  const { mark, first, variable = markVariable } = membership;
  // While a session lives its number is not given to another process; when a process of that number
  // is there and it is not the first one, the session is gone and the number means nothing.
  const holder = first ? all.get(first.pid) : undefined;
  const session =
    first && (!holder || holder.startTicks === first.startTicks) ? first.pid : undefined;
  const members = new Map<number, ProcessInfo>();
  const needle = Buffer.from(`${variable}=${mark}\0`);
  for (const info of all.values()) {
    const inSession =
      session !== undefined &&
      (info.session === session || info.group === session) &&
      info.startTicks >= (first?.startTicks ?? 0);
    if (inSession || carriesMark(info, needle)) members.set(info.pid, info);
  }
  for (const pid of membership.group?.pids() ?? []) {
    const info = all.get(pid);
    if (info) members.set(pid, info);
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

function carriesMark(info: ProcessInfo, needle: Buffer): boolean {
  if (info.ppid === 2 || info.pid === 2) return false; // The kernel's own.
  try {
    const environment = fs.readFileSync(`/proc/${String(info.pid)}/environ`);
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

/** Sends a signal; false when there is no such process any more. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false; // ESRCH: gone, which is what a signal is for.
  }
}

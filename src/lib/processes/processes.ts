/**
 * Owns which processes of the machine belong to a workload, told by /proc.
 *
 * A process belongs to it when the environment it was started with has the workload's mark, when it is
 * in the session or group of the first process, or when it descends from such a process. A program may
 * wipe its environment or leave its session, but it can hardly do both and be an orphan, too. A program
 * that is confined to a control group cannot leave it at all.
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

/**
 * What is read of an environment. A process can say that it has gigabytes; ours is among the first
 * variables that a program is started with.
 */
const environmentBytesMax = 128 * 1024;

export interface Membership {
  /** Value of the mark, unique on this machine. */
  mark: string;
  /** The variable that holds it; default `markVariable`. */
  variable?: string;
  first: FirstProcess | null;
  /** The control group it is confined to: every process in it belongs to the workload. */
  group?: { pids(): readonly number[]; kill(): void };
}

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

/** The processes of a workload that live now, without this process. */
export function findMembers(membership: Membership): ProcessInfo[] {
  const all = readAll();
  const { mark, first, variable = markVariable } = membership;
  // While a session lives, its number is not given to another process. When another process has that
  // number, the session is gone and the number means nothing.
  const holder = first ? all.get(first.pid) : undefined;
  const session =
    first && (!holder || holder.startTicks === first.startTicks) ? first.pid : undefined;
  const members = new Map<number, ProcessInfo>();
  const needle = Buffer.from(`${variable}=${mark}\0`);
  const room = Buffer.allocUnsafe(environmentBytesMax);
  for (const info of all.values()) {
    const inSession =
      session !== undefined &&
      (info.session === session || info.group === session) &&
      info.startTicks >= (first?.startTicks ?? 0);
    if (inSession || carriesMark(info, needle, room)) members.set(info.pid, info);
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

function carriesMark(info: ProcessInfo, needle: Buffer, room: Buffer): boolean {
  if (info.ppid === 2 || info.pid === 2) return false; // The kernel's own.
  try {
    const environment = readStart(`/proc/${String(info.pid)}/environ`, room);
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

/** What fits into `room`, as a view of it. */
function readStart(file: string, room: Buffer): Buffer {
  const fd = fs.openSync(file, 'r');
  try {
    let end = 0;
    for (let got = -1; got !== 0 && end < room.length; end += got) {
      got = fs.readSync(fd, room, end, room.length - end, null);
    }
    return room.subarray(0, end);
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

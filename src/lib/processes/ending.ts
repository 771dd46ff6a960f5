/**
 * Owns how the processes of a workload are ended.
 *
 * 1. It resolves when no process is left, even for programs that fork faster than they are ended: all
 *    are stopped first and then killed, until none is found.
 * 2. Nothing that does not belong to the workload is signalled.
 * 3. So many are signalled in one turn of the loop, and found anew for the next: numbers of those that ended
 *    meanwhile may be others' by then.
 */
import { setImmediate } from 'node:timers/promises';

import { type Clock, pause } from '../clock.ts';
import { memberPids, type Membership, signalProcess } from './processes.ts';

/** A workload without a bound of processes may fork as fast as it is stopped. */
const roundsMax = 64;
const pollMinMs = 10;
const pollMaxMs = 200;
/** A millisecond or so. */
const turnMax = 256;

type SignalOf = (pid: number) => NodeJS.Signals | null;

/** SIGTERM to all, then, `graceMs` later, `killAll`. */
export async function endPolitely(
  membership: Membership,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  const untilMs = clock.now() + graceMs;
  const told = new Set<number>();
  for (let pollMs = pollMinMs; ; pollMs = Math.min(pollMs * 2, pollMaxMs)) {
    const pids = memberPids(membership);
    if (pids.length === 0) return;
    const restMs = untilMs - clock.now();
    if (restMs <= 0) break;
    // One signal for each process: at a second SIGTERM many programs give up their clean end.
    const isWhole = signal(pids, told, (pid) => (waits(pid, membership) ? null : 'SIGTERM'));
    await pause(clock, isWhole ? Math.min(pollMs, restMs) : 0);
  }
  await killAll(membership, clock);
}

/** SIGKILL to all until none is left. */
export async function killAll(membership: Membership, clock: Clock): Promise<void> {
  // Whoever waits ends as its program does, to say how; before it has started one, by this.
  const signalOf: SignalOf = (pid) => (waits(pid, membership) ? 'SIGTERM' : 'SIGKILL');
  for (let pollMs = pollMinMs; ; pollMs = Math.min(pollMs * 2, pollMaxMs)) {
    if ((await freeze(membership)) === 0) return;
    membership.group?.kill();
    const told = new Set<number>();
    while (!signal(memberPids(membership), told, signalOf)) await setImmediate();
    await pause(clock, pollMs);
  }
}

/** Whether this is the one that only waits for the program. */
function waits(pid: number, membership: Membership): boolean {
  return membership.waits === true && pid === membership.first?.pid;
}

/** Stops all, so that none forks while others are killed; returns how many there were. */
async function freeze(membership: Membership): Promise<number> {
  const stopped = new Set<number>();
  for (let round = 0; round < roundsMax; round++) {
    const before = stopped.size;
    const pids = memberPids(membership);
    const isWhole = signal(pids, stopped, (pid) => (waits(pid, membership) ? null : 'SIGSTOP'));
    if (stopped.size === before) break;
    if (!isWhole) await setImmediate();
  }
  return stopped.size;
}

/** Signals those that were not told yet, as many as one turn of the loop has room for; false: some are left. */
function signal(pids: readonly number[], told: Set<number>, signalOf: SignalOf): boolean {
  const fresh = pids.filter((pid) => !told.has(pid));
  for (const pid of fresh.slice(0, turnMax)) {
    told.add(pid);
    const wanted = signalOf(pid);
    if (wanted !== null) signalProcess(pid, wanted);
  }
  return fresh.length <= turnMax;
}

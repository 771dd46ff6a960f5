/**
 * Owns how the processes of a workload are ended.
 *
 * 1. It resolves when no process is left, even for programs that fork faster than they are ended: all
 *    are stopped first and then killed, until none is found.
 * 2. Nothing that does not belong to the workload is signalled.
 */
import { type Clock, pause } from '../clock.ts';
import { findMembers, type Membership, signalProcess } from './processes.ts';

const freezeRounds = 8;
const pollMinMs = 10;
const pollMaxMs = 200;

/** SIGTERM to all, then, `graceMs` later, `killAll`. */
export async function endPolitely(
  membership: Membership,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  const untilMs = clock.now() + graceMs;
  const told = new Set<number>();
  for (let pollMs = pollMinMs; ; pollMs = Math.min(pollMs * 2, pollMaxMs)) {
    const members = findMembers(membership);
    if (members.length === 0) return;
    const restMs = untilMs - clock.now();
    if (restMs <= 0) break;
    for (const { pid } of members) {
      if (waits(pid, membership)) continue;
      // One signal for each process: at a second SIGTERM many programs give up their clean end.
      if (!told.has(pid)) signalProcess(pid, 'SIGTERM');
      told.add(pid);
    }
    await pause(clock, Math.min(pollMs, restMs));
  }
  await killAll(membership, clock);
}

/** SIGKILL to all until none is left. */
export async function killAll(membership: Membership, clock: Clock): Promise<void> {
  for (let pollMs = pollMinMs; ; pollMs = Math.min(pollMs * 2, pollMaxMs)) {
    if (freeze(membership) === 0) return;
    membership.group?.kill();
    for (const { pid } of findMembers(membership)) {
      // Whoever waits ends as its program does, to say how; before it has started one, by this.
      signalProcess(pid, waits(pid, membership) ? 'SIGTERM' : 'SIGKILL');
    }
    await pause(clock, pollMs);
  }
}

/** Whether this is the one that only waits for the program. */
function waits(pid: number, membership: Membership): boolean {
  return membership.waits === true && pid === membership.first?.pid;
}

/** Stops all, so that none forks while others are killed; returns how many there were. */
function freeze(membership: Membership): number {
  const frozen = new Set<number>();
  for (let round = 0; round < freezeRounds; round++) {
    const fresh = findMembers(membership).filter(({ pid }) => !frozen.has(pid));
    if (fresh.length === 0) break;
    for (const { pid } of fresh) {
      frozen.add(pid);
      if (!waits(pid, membership)) signalProcess(pid, 'SIGSTOP');
    }
  }
  return frozen.size;
}

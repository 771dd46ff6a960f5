/**
 * Preloaded into a service under test: its time is that of the system and as many milliseconds more as
 * the file named in TIME_TRAVEL_FILE says. A jump lets go off what it leaps over, in order.
 *
 * 1. Every thread looks at the file for itself; the main thread answers a jump in `<file>.seen`.
 * 2. `performance.now` and what is not JavaScript keep to the time of the system.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env['TIME_TRAVEL_FILE'] ?? '';
const lookEveryMs = 10;
const SystemDate = Date;
const systemNow = Date.now;
const setSystemTimeout = globalThis.setTimeout;
const clearSystemTimeout = globalThis.clearTimeout;

let offsetMs = 0;
let lookedAtMs = -Infinity;

function look(): void {
  lookedAtMs = performance.now();
  try {
    offsetMs = Number(readFileSync(file, 'utf8'));
  } catch {
    // Not there before the first jump.
  }
}

function now(): number {
  if (performance.now() - lookedAtMs > lookEveryMs) look();
  return systemNow() + offsetMs;
}

const TravellersDate: DateConstructor = new Proxy(SystemDate, {
  construct: (target, args, made): Date =>
    Reflect.construct(
      target,
      args.length === 0 ? [now()] : args,
      made === TravellersDate ? target : made,
    ) as Date,
  get: (target, name): unknown => (name === 'now' ? now : Reflect.get(target, name)),
});
SystemDate.prototype.constructor = TravellersDate;
globalThis.Date = TravellersDate;

interface Waiting {
  dueMs: number;
  fire: () => void;
  /** Goes off in the time of the system. */
  timer: NodeJS.Timeout;
  kept: boolean;
}

/** By what was handed out. */
const waiting = new Map<NodeJS.Timeout, Waiting>();

function setTravellersTimeout(
  callback: (...args: unknown[]) => void,
  delayMs = 0,
  ...args: unknown[]
): NodeJS.Timeout {
  const fire = (): void => {
    waiting.delete(timer);
    callback(...args);
  };
  const timer = setSystemTimeout(fire, delayMs);
  waiting.set(timer, { dueMs: now() + delayMs, fire, timer, kept: true });
  const unref = timer.unref.bind(timer);
  timer.unref = () => {
    const found = waiting.get(timer);
    if (found !== undefined) found.kept = false;
    return unref();
  };
  return timer;
}

function clearTravellersTimeout(timer?: NodeJS.Timeout | string | number): void {
  const found = typeof timer === 'object' ? waiting.get(timer) : undefined;
  if (found !== undefined && typeof timer === 'object') {
    waiting.delete(timer);
    clearSystemTimeout(found.timer);
  }
  clearSystemTimeout(timer);
}

globalThis.setTimeout = Object.assign(setTravellersTimeout, setSystemTimeout);
globalThis.clearTimeout = clearTravellersTimeout;
AbortSignal.timeout = (delayMs) => {
  const controller = new AbortController();
  const late = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  setTravellersTimeout(() => {
    controller.abort(late);
  }, delayMs).unref();
  return controller.signal;
};

/** What the jump leapt over goes off; the rest waits for less. */
function land(): void {
  const nowMs = now();
  const due = [...waiting].filter(([, { dueMs }]) => dueMs <= nowMs);
  for (const [handle, one] of due.sort(([, a], [, b]) => a.dueMs - b.dueMs)) {
    // One that went off before may have cleared it.
    if (waiting.get(handle) !== one) continue;
    clearSystemTimeout(one.timer);
    one.fire();
  }
  for (const one of waiting.values()) {
    clearSystemTimeout(one.timer);
    one.timer = setSystemTimeout(one.fire, one.dueMs - nowMs);
    if (!one.kept) one.timer.unref();
  }
}

let landedMs = 0;
setInterval(() => {
  look();
  if (offsetMs === landedMs) return;
  landedMs = offsetMs;
  land();
  if (isMainThread) writeFileSync(`${file}.seen`, String(offsetMs));
}, lookEveryMs).unref();

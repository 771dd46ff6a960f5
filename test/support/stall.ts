/** Owns standing still, as a process does that gets no CPU for a while. */

/**
 * Nothing of this process runs for so long. Behind `await setImmediate()` the loop comes to its timers
 * next, and only then to what came meanwhile.
 */
export function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

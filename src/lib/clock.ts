/** Owns time as a dependency, so that a test can bring its own. */

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Calls back once after `delayMs`; the returned function cancels. Never keeps the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Whether so much time has passed since then. A clock that was set back behind that cannot tell: then it has. */
export function hasPassed(clock: Clock, sinceMs: number, durationMs: number): boolean {
  const passedMs = clock.now() - sinceMs;
  return passedMs < 0 || passedMs >= durationMs;
}

/** Waits; rejects with the reason of `signal` when that aborts first. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const stop = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/**
 * As `clock.after`, for an answer that is late: called back only once what has come was taken. Behind a stall of
 * the process timers run ahead of answers that have been there for long.
 */
export function whenLate(clock: Clock, delayMs: number, callback: () => void): () => void {
  let turn: NodeJS.Immediate | undefined;
  const cancel = clock.after(delayMs, () => {
    turn = setImmediate(callback);
  });
  return () => {
    cancel();
    clearImmediate(turn);
  };
}

/** Calls back every `everyMs`, until the returned function is called. */
export function every(clock: Clock, everyMs: number, callback: () => void): () => void {
  let cancel = (): void => undefined;
  const arm = (): void => {
    cancel = clock.after(everyMs, () => {
      arm();
      callback();
    });
  };
  arm();
  return () => cancel();
}

// setTimeout fires at once for delays above 2^31-1 ms; longer waits go in stages.
const stageMaxMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, callback) {
    let timer: NodeJS.Timeout;
    const arm = (restMs: number): void => {
      const stageMs = Math.min(Math.max(restMs, 0), stageMaxMs);
      timer = setTimeout(() => {
        if (restMs > stageMs) arm(restMs - stageMs);
        else callback();
      }, stageMs);
      timer.unref();
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
};

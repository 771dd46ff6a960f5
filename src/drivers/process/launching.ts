/** Owns how a runner is reached that may have to be started. */
import { setTimeout } from 'node:timers/promises';

import type { Clock } from '../../lib/clock.ts';
import { ConnectionLost } from './runner-way.ts';
import { unreachable } from './silence.ts';

const retryMinMs = 10;
const retryMaxMs = 500;
/** How long a started runner may take to answer before another one is started. */
const launchMs = 5000;

export interface Launching<T> {
  /** Rejects with ConnectionLost where no runner answers. */
  greet: () => Promise<T>;
  launch: () => Promise<void>;
  clock: Clock;
  untilMs: number;
  closed: AbortSignal;
}

/** Rejects with AGENT_UNREACHABLE once it is late, or closed. */
export async function greetOrLaunch<T>(options: Launching<T>): Promise<T> {
  const { greet, launch, clock, untilMs, closed } = options;
  let launchedAtMs = -Infinity;
  for (let pauseMs = retryMinMs; ; pauseMs = Math.min(pauseMs * 2, retryMaxMs)) {
    try {
      return await greet();
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      if (closed.aborted || clock.now() >= untilMs) throw unreachable(error);
    }
    if (clock.now() - launchedAtMs > launchMs) {
      launchedAtMs = clock.now();
      await launch();
    }
    // It holds the process, other than the timers of a Clock: somebody waits for the runner.
    await setTimeout(pauseMs);
  }
}

/** Owns how the work of an actor tells it what came of it: by message, for work changes no state. */
import type { ActorContext, Protocol } from '../runtime/actor.ts';

/** The mailbox is the owner's own: what takes longer than this is stuck. */
const deadlineMs = 120_000;

/**
 * Reports to the actor from its own work, with the epoch of its activation; rejects when this
 * activation ends first, or when the work is given up: `stop` aborts.
 */
export async function report<P extends Protocol, T extends keyof P & string>(
  context: ActorContext<P>,
  message: { type: T } & Omit<P[T]['in'], 'epoch'>,
  stop?: AbortSignal,
): Promise<P[T]['out']> {
  const { actors, ref, epoch } = context;
  const signal = stop === undefined ? context.signal : AbortSignal.any([context.signal, stop]);
  signal.throwIfAborted();
  const full = { ...message, epoch } as unknown as { type: T } & P[T]['in'];
  // An actor that ends waits for its work, so that work must not wait for the actor.
  const end = rejectOnAbort(signal);
  try {
    const reply = actors.ask<P, T>(ref, full, { deadlineMs });
    return await Promise.race([reply, end.promise]);
  } finally {
    end.settle();
  }
}

/** Rejects when `signal` aborts; `settle` ends the listening. */
function rejectOnAbort(signal: AbortSignal): { promise: Promise<never>; settle: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => {
    reject(signal.reason as Error);
  };
  signal.addEventListener('abort', stop, { once: true });
  return {
    promise,
    settle: () => {
      signal.removeEventListener('abort', stop);
    },
  };
}

/**
 * Owns the way to the actors for a thread that has none: its messages cross to the thread where they
 * live, and the replies come back.
 *
 * 1. Who sends a message sees no difference: the same replies, the same errors, and the cause of the
 *    request that is under way on this thread goes along.
 * 2. A deadline holds on both sides: a thread that is held up there keeps nobody waiting here.
 * 3. What is told and refused is logged there; nothing comes back that could be thrown here.
 */
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Asking, Handling } from '../lib/port-calls.ts';
import type {
  ActorRef,
  Actors,
  AskOptions,
  Cause,
  MessageOf,
  Protocol,
} from '../actors/runtime/actor.ts';
import { deadlineExceeded, defaultDeadlineMs } from '../actors/runtime/deadline.ts';

interface Carried {
  kind: string;
  id: string;
  message: { type: string };
}

/** Calls to the thread where the actors live. */
export type ActorCalls = {
  'actors.ask': { in: Carried & { deadlineMs: number; cause: Cause | null }; out: unknown };
  'actors.tell': { in: Carried; out: unknown };
};

export interface RemoteActorsOptions {
  home: Asking<ActorCalls>;
  /** Whose request is under way on this thread. */
  causes: { take(): Cause | null };
  clock: Clock;
}

export class RemoteActors implements Actors {
  readonly #options: RemoteActorsOptions;

  constructor(options: RemoteActorsOptions) {
    this.#options = options;
  }

  async ask<P extends Protocol, T extends keyof P & string>(
    { kind, id }: ActorRef<P>,
    message: { type: T } & P[T]['in'],
    options: AskOptions = {},
  ): Promise<P[T]['out']> {
    const { home, causes, clock } = this.#options;
    const { deadlineMs = defaultDeadlineMs } = options;
    const cause = options.cause ?? causes.take();
    const reply = home.ask('actors.ask', { kind, id, message, deadlineMs, cause });
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = clock.after(deadlineMs, () => {
        reject(deadlineExceeded());
      });
    });
    try {
      return await Promise.race([reply, late]);
    } finally {
      cancel();
    }
  }

  tell<P extends Protocol>({ kind, id }: ActorRef<P>, message: MessageOf<P>): void {
    this.#options.home.tell('actors.tell', { kind, id, message });
  }
}

/** Lets the other side of a port reach the actors of this thread, as outsiders do. */
export function answerForActors(
  calls: Handling<ActorCalls>,
  { actors, logger }: { actors: Actors; logger: Logger },
): void {
  calls.handle('actors.ask', ({ kind, id, message, deadlineMs, cause }) =>
    actors.ask({ kind, id }, message, { deadlineMs, ...(cause && { cause }) }),
  );
  calls.handle('actors.tell', ({ kind, id, message }) => {
    try {
      actors.tell({ kind, id }, message);
    } catch (error) {
      logger.warn({ actor: `${kind}:${id}`, message: message.type, err: error }, 'tell_failed');
    }
  });
}

/**
 * Owns the way to the actors for a thread that has none: its messages go through a door, which alone
 * would do neither of these.
 *
 * 1. A sender sees no difference: the replies and errors are the same, and the cause of the request that
 *    is under way on this thread goes along.
 * 2. A deadline holds on both sides: nobody waits here for a thread that hangs.
 */
import {
  type ActorRef,
  type Actors,
  type AskOptions,
  type Cause,
  deadlineExceeded,
  defaultDeadlineMs,
  type MessageOf,
  type Protocol,
} from '../actors/runtime/actor.ts';
import type { Clock } from '../lib/clock.ts';

export interface RemoteActorsOptions {
  /** The door to where the actors live. */
  home: Actors;
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
    const to: ActorRef<P> = { kind, id };
    const reply = home.ask(to, message, { deadlineMs, ...(cause && { cause }) });
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = clock.after(deadlineMs, () => reject(deadlineExceeded()));
    });
    try {
      return await Promise.race([reply, late]);
    } finally {
      cancel();
    }
  }

  tell<P extends Protocol>({ kind, id }: ActorRef<P>, message: MessageOf<P>): void {
    this.#options.home.tell({ kind, id }, message);
  }
}

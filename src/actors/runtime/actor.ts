/**
 * Owns what an actor is to the rest of the program.
 *
 * 1. An actor handles one message at a time, in the order of arrival.
 * 2. A reply leaves only after everything committed while handling its message is durable. A failed commit
 *    discards the actor, which is activated again from the stored state, and rejects every waiting reply.
 * 3. Messages and replies are plain data; the transport is invisible to both ends.
 * 4. Every limit (mailbox, deadline) ends in a ServiceError: MAILBOX_FULL, DEADLINE_EXCEEDED.
 * 5. A message may carry its cause: who requested it. The record of the cause is committed with the first
 *    change made while the message is handled, so that neither exists without the other.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Change } from '../../store/records/table.ts';

/** Message types of an actor kind: the input and the answer of each. */
export type Protocol = Record<string, { in: object; out: unknown }>;

export type MessageOf<P extends Protocol> = {
  [T in keyof P & string]: { type: T } & P[T]['in'];
}[keyof P & string];

/** Where an actor lives. `P` exists only as a type. */
export interface ActorRef<P extends Protocol> {
  readonly kind: string;
  readonly id: string;
  readonly protocol?: P;
}

/** Names a kind; `appActor.at(id)` addresses one actor. */
export interface ActorKind<P extends Protocol> {
  readonly kind: string;
  at(id: string): ActorRef<P>;
}

export function actorKind<P extends Protocol>(kind: string): ActorKind<P> {
  return { kind, at: (id) => ({ kind, id }) };
}

/** How long a caller waits. */
export const defaultDeadlineMs = 30_000;

export function deadlineExceeded(): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', 'This took too long; it may still happen.');
}

export interface AskOptions {
  /** Milliseconds until DEADLINE_EXCEEDED. The message may still be handled. */
  deadlineMs?: number;
  /** The cause of the message; default: the request that is under way here, if any. */
  cause?: Cause;
}

/** The program that speaks for a caller over MCP. */
export interface CauseAgent {
  /** The program's own name, safe to show; null when it gave none. */
  readonly client: string | null;
  readonly tool: string;
}

/** The caller behind a message, and what the caller requested; plain data. */
export interface Cause {
  /** Identifies the request, which is recorded once, however many messages it takes. */
  readonly id: string;
  readonly atMs: number;
  /** The name of a GraphQL mutation, or of a transport's action, such as `deploy_hook`. */
  readonly action: string;
  /** Null: nobody known, for example before a sign-in. */
  readonly userId: string | null;
  /** The API token or OAuth grant that acts for the person; null for a session. */
  readonly tokenId: string | null;
  /** The team the caller acts in. */
  readonly teamId: string | null;
  readonly address: string;
  readonly userAgent: string;
  readonly via: 'http' | 'mcp';
  /** Over MCP: the calling program and its tool. */
  readonly agent?: CauseAgent | null;
  /** The subject of the change, when the request names it. */
  readonly targetId: string | null;
  /** Further harmless details of the request. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Recorded even when nothing changes, for example when a secret is shown. */
  readonly always: boolean;
  /** Whether an earlier message of the same request may have recorded it. */
  readonly again: boolean;
}

/** The changes that record a cause, for a commit of `address`. */
export type RecordCause = (
  cause: Cause,
  changes: readonly Change[],
  address: string,
) => readonly Change[];

export interface Actors {
  /** Sends and waits for the durable reply. */
  ask<P extends Protocol, T extends keyof P & string>(
    to: ActorRef<P>,
    message: { type: T } & P[T]['in'],
    options?: AskOptions,
  ): Promise<P[T]['out']>;
  /** Sends without waiting. A handler's error is logged. Throws MAILBOX_FULL. */
  tell<P extends Protocol>(to: ActorRef<P>, message: MessageOf<P>): void;
}

export interface ActorContext<P extends Protocol> {
  readonly ref: ActorRef<P>;
  readonly address: string;
  readonly epoch: number;
  readonly actors: Actors;
  /**
   * The cause of the message being handled, until a commit has recorded it. Pass it on when another actor
   * makes the change.
   */
  readonly cause: Cause | null;
  /** Aborts when this activation ends: passivated, discarded, or shut down. Made on demand. */
  readonly signal: AbortSignal;
  /** Whether the activation has ended; cheaper than `signal.aborted`. */
  readonly ended: boolean;
  /**
   * Commits. The reply of the message being handled waits for the commit, and the next message is handled
   * while the disk works. A commit that a table's rule may refuse (CONFLICT, NOT_FOUND) must be awaited
   * before the actor changes its state: the handler then deals with the refusal. Every other failure
   * discards the actor, awaited or not.
   */
  commit(changes: Change[]): Promise<void>;
  /** Runs `effect` once everything committed so far is durable; not at all when that fails. */
  afterCommit(effect: () => void): void;
  /** Changes that set or clear a durable alarm: `message` is told to this actor at `atMs`. */
  alarm(name: string, atMs: number, message: MessageOf<P>): Change;
  clearAlarm(name: string): Change;
  /**
   * Runs work that outlives a message, such as a build. It keeps the actor active, and its signal aborts
   * when this activation ends. The work changes state only by `report`. An error that it throws goes to the
   * supervisor. `name` is for the log.
   */
  work(name: string, work: (signal: AbortSignal) => Promise<void>): void;
  /**
   * Runs `change` as a message to this actor, after the waiting ones. Resolves with its result once that is
   * durable. When this activation ends first, or `stop` aborts, it rejects and `change` is dropped. Nobody
   * has to handle the rejection.
   */
  report<T>(change: () => T | Promise<T>, stop?: AbortSignal): Promise<T>;
}

/** One handler for each message type. A thrown ServiceError is an answer, any other error a crash. */
export type Actor<P extends Protocol> = {
  readonly [T in keyof P & string]: (
    message: { type: T } & P[T]['in'],
  ) => P[T]['out'] | Promise<P[T]['out']>;
};

export interface ActorDefinition<P extends Protocol> {
  readonly kind: ActorKind<P>;
  /** Messages that may wait; default 1,024. */
  readonly mailboxMax?: number;
  /** Idle time until passivated; default 60,000. Infinity: never, however many other actors there are. */
  readonly idleMs?: number;
  /** Reads its state from the store and takes up what an earlier activation left. */
  activate(context: ActorContext<P>): Actor<P> | Promise<Actor<P>>;
}

/**
 * Owns what an actor is to the rest of the program.
 *
 * 1. An actor handles one message at a time, in the order of arrival.
 * 2. A reply leaves only after everything committed while handling its message is durable; a
 *    failed commit discards the actor, which is activated anew from what is stored, and rejects
 *    every reply that waited.
 * 3. Messages and replies are plain data; the transport is invisible to both ends.
 * 4. Every bound (mailbox, deadline) ends in a ServiceError: MAILBOX_FULL, DEADLINE_EXCEEDED.
 * 5. A message may carry its cause: who asked for it. What records the cause is committed with the
 *    first change made while the message is handled, so that neither is there without the other.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Change } from '../../store/records/table.ts';

/** Message types of an actor kind: what comes in and what is answered. */
export type Protocol = Record<string, { in: object; out: unknown }>;

export type MessageOf<P extends Protocol> = {
  [T in keyof P & string]: { type: T } & P[T]['in'];
}[keyof P & string];

/** Where an actor lives. `P` is a type only. */
export interface ActorRef<P extends Protocol> {
  readonly kind: string;
  readonly id: string;
  readonly protocol?: P;
}

/** Names a kind; `appActor.at(id)` addresses one. */
export interface ActorKind<P extends Protocol> {
  readonly kind: string;
  at(id: string): ActorRef<P>;
}

export function actorKind<P extends Protocol>(kind: string): ActorKind<P> {
  return { kind, at: (id) => ({ kind, id }) };
}

/** How long who asks waits. */
export const defaultDeadlineMs = 30_000;

export function deadlineExceeded(): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', 'This took too long; it may still happen.');
}

export interface AskOptions {
  /** Milliseconds until DEADLINE_EXCEEDED. The message may still be handled. */
  deadlineMs?: number;
  /** Who asks; default: the caller whose request is under way here, if any. */
  cause?: Cause;
}

/** The program that speaks for a caller over MCP. */
export interface CauseAgent {
  /** What it calls itself, fit to be shown; null where it did not say. */
  readonly client: string | null;
  readonly tool: string;
}

/** Whose request a message serves, and what it asked for; plain data. */
export interface Cause {
  /** Names the request: however many messages it takes, it is recorded once. */
  readonly id: string;
  readonly atMs: number;
  /** The name of a GraphQL mutation, or of what a transport does, such as `deploy_hook`. */
  readonly action: string;
  /** Null: nobody who is known, such as who is just signing in. */
  readonly userId: string | null;
  /** The API token or OAuth grant that acts for the person; null for a session. */
  readonly tokenId: string | null;
  /** The team the caller acts in. */
  readonly teamId: string | null;
  readonly address: string;
  readonly userAgent: string;
  readonly via: 'http' | 'mcp';
  /** Over MCP: which program asked, and by which tool. */
  readonly agent?: CauseAgent | null;
  /** What was asked to be changed, where the request names it. */
  readonly targetId: string | null;
  /** What else may be told of the request; nothing secret. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Recorded also when nothing changes, such as when a secret is shown. */
  readonly always: boolean;
  /** Whether an earlier message of the same request may have recorded it. */
  readonly again: boolean;
}

/** The changes that record a cause beside others that `address` is about to commit. */
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
  /** Sends without waiting; what it throws is logged. Throws MAILBOX_FULL. */
  tell<P extends Protocol>(to: ActorRef<P>, message: MessageOf<P>): void;
}

export interface ActorContext<P extends Protocol> {
  readonly ref: ActorRef<P>;
  readonly address: string;
  readonly epoch: number;
  readonly actors: Actors;
  /**
   * Of the message being handled, until a commit has recorded it: to be handed on where another
   * actor makes the change.
   */
  readonly cause: Cause | null;
  /** Aborts when this activation ends: passivated, discarded, or shut down. Made when first asked for. */
  readonly signal: AbortSignal;
  /** Whether it has ended; what `signal.aborted` says, for less. */
  readonly ended: boolean;
  /**
   * Commits; the reply of the message being handled waits for it, and the next message is handled
   * while the disk works. A commit that a table's rule may refuse (CONFLICT, NOT_FOUND) must be
   * awaited, before own state changes: the refusal is then the handler's to deal with. Every other
   * failure discards the actor, awaited or not.
   */
  commit(changes: Change[]): Promise<void>;
  /** Runs `effect` once everything committed so far is durable; not at all when that fails. */
  afterCommit(effect: () => void): void;
  /** Changes that set or clear a durable alarm: `message` is told to this actor at `atMs`. */
  alarm(name: string, atMs: number, message: MessageOf<P>): Change;
  clearAlarm(name: string): Change;
  /**
   * Runs work that outlives a message, such as a build. It keeps the actor active, and its signal
   * aborts when this activation ends. It changes state by `report` alone. What it throws is told to
   * the supervisor. `name` is for the log.
   */
  work(name: string, work: (signal: AbortSignal) => Promise<void>): void;
  /**
   * Runs `change` as a message to this actor, behind those that wait. Resolves with what it returns
   * once that is durable. When this activation ends first, or `stop` aborts, it rejects and `change`
   * is dropped. Nobody has to handle the rejection.
   */
  report<T>(change: () => T | Promise<T>, stop?: AbortSignal): Promise<T>;
}

/** One handler a message type. A thrown ServiceError is an answer; anything else a crash. */
export type Actor<P extends Protocol> = {
  readonly [T in keyof P & string]: (
    message: { type: T } & P[T]['in'],
  ) => P[T]['out'] | Promise<P[T]['out']>;
};

export interface ActorDefinition<P extends Protocol> {
  readonly kind: ActorKind<P>;
  /** Messages that may wait; default 1,024. */
  readonly mailboxMax?: number;
  /** Idle time until passivated; default 60,000. Infinity: never, however many others there are. */
  readonly idleMs?: number;
  /** Reads its state from the store and picks up what an earlier activation left. */
  activate(context: ActorContext<P>): Actor<P> | Promise<Actor<P>>;
}

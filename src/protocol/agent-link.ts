/**
 * Owns what both ends of the link to another server offer: calls of plain data, streams of bytes, and what an agent
 * tells by itself.
 *
 * 1. What crosses is plain data (CBOR): null, booleans, numbers, strings, bytes, arrays and records of them.
 * 2. A ServiceError of the other end arrives as one, with its code, sentence and `retryAfterS` alone. Any other
 *    failure is logged where it happened, and arrives as INTERNAL.
 * 3. Nothing waits for a link that is away: AGENT_UNREACHABLE comes at once, and within two seconds while it is
 *    not known yet that it is.
 */
import type { Duplex } from 'node:stream';

/**
 * `control` is for what somebody waits for: calls, consoles, logs. `bulk` is for files and archives, which may fill
 * the line without keeping the others back.
 */
export type Lane = 'control' | 'bulk';

/** For visitors of this app: on `bulk`, where they have room of their own, and each app a share of that. */
export interface ForVisitors {
  visitorsOf: string;
}

export interface CallOptions {
  /** Gives the call up: it rejects with the signal's reason, and the signal of the other end's handler aborts. */
  signal?: AbortSignal;
  /** Then it is AGENT_UNREACHABLE. Default 20 s; Infinity for work that takes as long as it takes. */
  timeoutMs?: number;
}

export type AgentLinkEvent =
  | { type: 'connected' }
  | { type: 'disconnected' }
  /** The agent says it by itself; nobody answers. */
  | { type: 'told'; name: string; message: unknown };

/** The way to one other server. It is there whether the agent is connected or not. */
export interface AgentLink {
  readonly serverId: string;
  readonly isConnected: boolean;
  /** Also OVERLOADED when too much is under way, and NOT_FOUND from an agent that does not know the call. */
  call(name: string, message: unknown, options?: CallOptions): Promise<unknown>;
  /**
   * Resolves once the other end has accepted; rejects as its handler does. Whatever breaks the stream later is an
   * `error` of it, AGENT_UNREACHABLE when the link is lost. `signal` breaks it at any time. What nobody reads is
   * not sent by the other end, but for a window.
   */
  stream(
    name: string,
    head: unknown,
    by: Lane | ForVisitors,
    signal?: AbortSignal,
  ): Promise<Duplex>;
  /**
   * For what is asked over a stream: calls back once when the server gives no sign of life within two seconds from
   * now. A link that is cut is no silence: what was asked may be answered when it is back. The returned function
   * ends it.
   */
  unlessHeard(onSilence: () => void): () => void;
  /** Calls back with every event from now on; the returned function ends it. */
  watch(listener: (event: AgentLinkEvent) => void): () => void;
}

/** All other servers. */
export interface AgentLinks {
  /** The same one for the same id. */
  of(serverId: string): AgentLink;
}

/** `signal` aborts when nobody waits for the answer any more. */
export type AgentCall = (message: unknown, signal: AbortSignal) => Promise<unknown>;

/**
 * The stream is accepted once it returns, or what it returns resolves; until then it may refuse with a ServiceError.
 * The end of the other side's bytes is the end of `stream`; its loss is an `error` of it.
 */
export type AgentStream = (head: unknown, stream: Duplex) => void | Promise<void>;

/** What an agent serves, by name. */
export interface AgentServices {
  calls: Readonly<Record<string, AgentCall>>;
  streams: Readonly<Record<string, AgentStream>>;
}

/** Of one call's message, of its answer, and of the head of a stream. What is larger is sent as a stream. */
export const messageBytesMax = 1024 * 1024;
/** Of the head of a stream. */
export const headBytesMax = 32 * 1024;

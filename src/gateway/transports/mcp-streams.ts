/**
 * Owns answers of the MCP endpoint that are Server-Sent Events: calls that report their progress, and
 * listeners.
 *
 * 1. At most `openMax` calls and as many listeners are open on this thread, and on all threads together at
 *    most 512 of each for one team, 256 for one person, and 64 listeners for one token. Calls and listeners are counted apart,
 *    so that listeners take no place of calls. Beyond that TOO_MANY_STREAMS.
 * 2. A listener ends within a second after its token lost its right.
 * 3. A comment every `pingMs` keeps the connection alive.
 * 4. `drain` ends the listeners. A call is ended by the signal of its exchange.
 */
import { callerOf, type SignedIn } from '../../auth/callers/principal.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import { type Clock, every } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { OwnTally, type Tally } from '../../lib/tally.ts';
import type { McpAnswer } from '../../mcp/answer.ts';
import { sseComment, sseHeaders } from '../../protocol/sse.ts';
import type { Exchange, ResponseStream } from '../transport.ts';

export interface McpStreamsOptions {
  clock: Clock;
  logger: Logger;
  /** The limit for calls, and again for listeners; default 1,024. */
  openMax?: number;
  /** Counts streams by person and token, on all threads; default: those of this thread. */
  held?: Tally;
}

/** What a stream is, and whose. */
interface Owned {
  kind: 'call' | 'listener';
  owner: SignedIn;
}

interface Listener {
  stream: ResponseStream;
  /** The last event, which says that we end the stream and nothing went wrong. */
  last: string;
  mayStay: () => boolean;
}

const ping = sseComment('ping');
const pingMs = 15_000;
const checkMs = 500;
const teamMax = 512;
const personMax = 256;
const tokenListenersMax = 64;

export class McpStreams {
  readonly #options: Required<McpStreamsOptions>;
  readonly #open = new Map<ResponseStream, Owned>();
  readonly #listeners = new Set<Listener>();
  #stopPings: (() => void) | null = null;
  #stopChecks: (() => void) | null = null;
  #draining = false;

  constructor(options: McpStreamsOptions) {
    this.#options = { openMax: 1_024, held: new OwnTally(), ...options };
  }

  get size(): number {
    return this.#open.size;
  }

  /** Runs a call that sends events, until its response. Rejects when there is no room for one more. */
  async run(
    exchange: Exchange,
    { run }: Extract<McpAnswer, { kind: 'events' }>,
    owner: SignedIn,
  ): Promise<void> {
    const stream = this.#begin(exchange, { kind: 'call', owner });
    try {
      await run((json) => void stream.write(eventOf(json)));
    } catch (error) {
      // The head is sent, so the stream can only end without a response.
      const { code } = asServiceError(error);
      this.#options.logger.error({ err: error, code }, 'mcp_stream_failed');
    } finally {
      this.#end(stream);
    }
  }

  /** Holds a connection open, as long as `mayStay` allows it. Throws as `run`. */
  listen(
    exchange: Exchange,
    { first, last }: Extract<McpAnswer, { kind: 'listen' }>,
    owner: SignedIn,
    mayStay: () => boolean,
  ): void {
    const stream = this.#begin(exchange, { kind: 'listener', owner });
    stream.write(eventOf(first));
    const listener = { stream, last, mayStay };
    this.#listeners.add(listener);
    exchange.onAbort(() => this.#listeners.delete(listener));
    this.#stopChecks ??= every(this.#options.clock, checkMs, () => this.#check());
  }

  drain(): void {
    this.#draining = true;
    for (const { stream, last } of this.#listeners) {
      stream.write(eventOf(last));
      this.#end(stream);
    }
    this.#listeners.clear();
    this.#rest();
  }

  #begin(exchange: Exchange, owned: Owned): ResponseStream {
    const { clock, held } = this.#options;
    if (this.#draining) throw new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
    this.#mustHaveRoom(owned);
    const stream = exchange.stream(200, sseHeaders);
    this.#open.set(stream, owned);
    for (const key of keysOf(owned)) held.add(key);
    exchange.onAbort(() => this.#forget(stream));
    this.#stopPings ??= every(clock, pingMs, () => {
      for (const one of this.#open.keys()) one.write(ping);
    });
    return stream;
  }

  #mustHaveRoom(owned: Owned): void {
    const { openMax, held } = this.#options;
    const [person, token, team] = keysOf(owned);
    const isListener = owned.kind === 'listener';
    const alike = isListener ? this.#listeners.size : this.#open.size - this.#listeners.size;
    const refuse = (detail: string): never => {
      throw new ServiceError('TOO_MANY_STREAMS', detail);
    };
    if (held.count(person) >= personMax) refuse(`One person may hold ${personMax} such streams.`);
    if (held.count(team) >= teamMax) refuse(`One team may hold ${teamMax} such streams.`);
    if (isListener && held.count(token) >= tokenListenersMax) {
      refuse(`One token may hold ${tokenListenersMax} such streams.`);
    }
    if (alike >= openMax) refuse(`There are ${openMax} such streams already.`);
  }

  #end(stream: ResponseStream): void {
    if (!stream.closed) stream.end();
    this.#forget(stream);
  }

  #forget(stream: ResponseStream): void {
    const owned = this.#open.get(stream);
    this.#open.delete(stream);
    if (owned !== undefined) for (const key of keysOf(owned)) this.#options.held.remove(key);
    this.#rest();
  }

  #check(): void {
    for (const listener of this.#listeners) {
      if (listener.mayStay()) continue;
      this.#listeners.delete(listener);
      this.#end(listener.stream);
    }
  }

  /** Stops the timer while nothing is open. */
  #rest(): void {
    if (this.#listeners.size === 0) {
      this.#stopChecks?.();
      this.#stopChecks = null;
    }
    if (this.#open.size > 0) return;
    this.#stopPings?.();
    this.#stopPings = null;
  }
}

function keysOf({ kind, owner }: Owned): [person: string, token: string, team: string] {
  const { userId, teamId } = owner;
  return [`${kind} ${userId}`, `${kind} ${callerOf(owner)}`, `${kind} team ${String(teamId)}`];
}

function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}

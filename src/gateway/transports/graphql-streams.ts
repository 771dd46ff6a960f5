/**
 * Owns GraphQL over Server-Sent Events: the distinct connections mode of the graphql-sse protocol.
 *
 * 1. Every result is an event `next`, the end an event `complete`. Errors before execution come as a `next`
 *    as well, because the client was promised an event stream.
 * 2. The next result is made only when the socket has taken the last one.
 * 3. One person, or a network of nobody known, holds `perPersonMax` streams at most; beyond that
 *    TOO_MANY_STREAMS.
 * 4. `drain` completes every stream.
 */
import { OwnStreamRoom, type StreamRoom } from '../../logs/viewers/stream-room.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import type { GraphqlCall, Lanes } from '../../graphql/execution/lanes.ts';
import { type Clock, every } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { networkOf } from '../../lib/networks.ts';
import { sseComment, sseHeaders } from '../../protocol/sse.ts';
import { PacedStream } from '../http/paced-stream.ts';
import type { Exchange, ResponseStream } from '../transport.ts';

export interface GraphqlStreamsOptions {
  clock: Clock;
  logger: Logger;
  /** Streams one person may hold; default 256. */
  perPersonMax?: number;
  /** Where streams are counted, when other threads have streams, too. */
  room?: StreamRoom;
  /** Milliseconds between two comments that keep the connection alive; default 15,000. */
  pingMs?: number;
}

export const graphqlStreamsMax = 256;
const complete = 'event: complete\ndata:\n\n';
const ping = sseComment('ping');

export class GraphqlStreams {
  readonly #options: Required<GraphqlStreamsOptions>;
  readonly #open = new Set<AbortController>();
  #draining = false;

  constructor(options: GraphqlStreamsOptions) {
    const { perPersonMax = graphqlStreamsMax } = options;
    const room = new OwnStreamRoom(perPersonMax);
    this.#options = { perPersonMax, room, pingMs: 15_000, ...options };
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Answers with a stream of the call's results. Rejects: TOO_MANY_STREAMS, SHUTTING_DOWN. */
  async open(exchange: Exchange, lanes: Lanes, call: GraphqlCall): Promise<void> {
    const { perPersonMax, room } = this.#options;
    const person = personOf(call.principal, exchange.address);
    if (!(await room.reserve(person))) {
      throw new ServiceError('TOO_MANY_STREAMS', `One person may hold ${perPersonMax} streams.`);
    }
    if (this.#draining) {
      room.release(person);
      throw new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
    }
    const stream = exchange.stream(200, sseHeaders);
    const controller = new AbortController();
    this.#open.add(controller);
    exchange.onAbort(() => controller.abort());
    if (exchange.aborted) controller.abort();
    // The head is sent: no header can be set any more.
    const { origin = null } = call.http ?? {};
    const results = lanes.results({ ...call, http: null, origin, signal: controller.signal });
    void this.#send(stream, results, controller.signal).finally(() => {
      this.#open.delete(controller);
      room.release(person);
    });
  }

  drain(): void {
    this.#draining = true;
    for (const controller of this.#open) controller.abort();
  }

  async #send(
    stream: ResponseStream,
    results: AsyncGenerator<string, void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, pingMs } = this.#options;
    const paced = new PacedStream(stream, signal);
    const stopPings = every(clock, pingMs, () => paced.writeIfIdle(ping));
    try {
      for await (const json of results) {
        if (!(await paced.write(`event: next\ndata: ${json}\n\n`))) break;
      }
    } catch (error) {
      const { code, message } = this.#shown(error);
      const json = JSON.stringify({ errors: [{ message, extensions: { code } }] });
      await paced.write(`event: next\ndata: ${json}\n\n`);
    } finally {
      stopPings();
      if (!stream.closed) stream.end(complete);
    }
  }

  #shown(error: unknown): Pick<ServiceError, 'code' | 'message'> {
    if (error instanceof ServiceError) return error;
    this.#options.logger.error({ err: error }, 'graphql_stream_failed');
    return { code: 'INTERNAL', message: 'Something went wrong on our side.' };
  }
}

/** Whose stream it is: a person's, or that of a network of nobody known. */
export function personOf(principal: Principal, address: string): string {
  return principal.kind === 'anonymous' ? `network ${networkOf(address)}` : principal.userId;
}

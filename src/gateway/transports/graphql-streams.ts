/**
 * Owns GraphQL over Server-Sent Events: the distinct connections mode of the graphql-sse protocol.
 *
 * 1. Every result is an event `next`, the end an event `complete`; errors before execution come as
 *    a `next` as well, because the client was promised an event stream.
 * 2. The next result is made only when the socket took the last one.
 * 3. One person holds `perPersonMax` streams at most; beyond that TOO_MANY_STREAMS.
 * 4. `drain` completes every stream.
 */
import { OwnStreamRoom, type StreamRoom } from '../../logs/viewers/stream-room.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import type { GraphqlCall, Lanes } from '../../graphql/execution/lanes.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { sseHeaders } from '../../protocol/sse.ts';
import type { Exchange, ResponseStream } from '../transport.ts';

export interface GraphqlStreamsOptions {
  clock: Clock;
  logger: Logger;
  /** Streams one person may hold; default 256. */
  perPersonMax?: number;
  /** Where they are counted, when other threads have streams, too. */
  room?: StreamRoom;
  /** Milliseconds between two comments that keep the connection alive; default 15,000. */
  pingMs?: number;
}

interface Wanted {
  /** Whose place it takes. */
  person: string;
  exchange: Exchange;
  lanes: Lanes;
  call: GraphqlCall;
}

export const graphqlStreamsMax = 256;
const complete = 'event: complete\ndata:\n\n';
const ping = ': ping\n\n';

export class GraphqlStreams {
  readonly #options: Required<GraphqlStreamsOptions>;
  readonly #open = new Set<AbortController>();
  #draining = false;

  constructor(options: GraphqlStreamsOptions) {
    const { perPersonMax = graphqlStreamsMax } = options;
    const room = new OwnStreamRoom(perPersonMax);
    this.#options = { perPersonMax, room, pingMs: 15_000, ...options };
  }

  /**
   * Answers with a stream of the call's results. Throws, or rejects, with TOO_MANY_STREAMS or
   * SHUTTING_DOWN; a promise where threads share the bound.
   */
  open(exchange: Exchange, lanes: Lanes, call: GraphqlCall): Promise<void> | undefined {
    this.#assertOpen();
    const person = personOf(call.principal, exchange.address);
    const reserved = this.#options.room.reserve(person);
    const wanted = { person, exchange, lanes, call };
    if (reserved instanceof Promise) return reserved.then((has) => this.#begin(has, wanted));
    this.#begin(reserved, wanted);
    return undefined;
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size;
  }

  drain(): void {
    this.#draining = true;
    for (const controller of this.#open) controller.abort();
  }

  #begin(reserved: boolean, { person, exchange, lanes, call }: Wanted): void {
    const { perPersonMax, room } = this.#options;
    if (!reserved) {
      throw new ServiceError('TOO_MANY_STREAMS', `One person may hold ${perPersonMax} streams.`);
    }
    const stream = this.#streamAt(person, exchange);
    const controller = new AbortController();
    this.#open.add(controller);
    exchange.onAbort(() => controller.abort());
    if (exchange.aborted) controller.abort();
    // The head has left: nothing can be set on it any more.
    const { origin = null } = call.http ?? {};
    const results = lanes.results({ ...call, http: null, origin, signal: controller.signal });
    void this.#send(stream, results, controller).finally(() => {
      this.#open.delete(controller);
      room.release(person);
    });
  }

  /** Gives the place back where no stream comes to use it. */
  #streamAt(person: string, exchange: Exchange): ResponseStream {
    try {
      this.#assertOpen();
      return exchange.stream(200, sseHeaders);
    } catch (error) {
      this.#options.room.release(person);
      throw error;
    }
  }

  #assertOpen(): void {
    if (this.#draining) throw new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
  }

  async #send(
    stream: ResponseStream,
    results: AsyncGenerator<string, void>,
    controller: AbortController,
  ): Promise<void> {
    const flow = new Flow(stream, controller.signal);
    const stopPings = this.#ping(flow);
    try {
      for await (const json of results) {
        if (!(await flow.write(`event: next\ndata: ${json}\n\n`))) break;
      }
    } catch (error) {
      const { code, message } = this.#shown(error);
      const json = JSON.stringify({ errors: [{ message, extensions: { code } }] });
      await flow.write(`event: next\ndata: ${json}\n\n`);
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

  #ping(flow: Flow): () => void {
    let cancel = (): void => undefined;
    const arm = (): void => {
      cancel = this.#options.clock.after(this.#options.pingMs, () => {
        flow.idle();
        arm();
      });
    };
    arm();
    return () => cancel();
  }
}

/** A socket that is waited for. */
class Flow {
  readonly #stream: ResponseStream;
  readonly #signal: AbortSignal;
  #full = false;
  #writable: (() => void) | null = null;

  constructor(stream: ResponseStream, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.onWritable(() => this.#resume());
    signal.addEventListener('abort', () => this.#resume(), { once: true });
  }

  /** Writes and waits until more can be written; false when nothing more should be. */
  async write(frame: string): Promise<boolean> {
    if (this.#isOver()) return false;
    this.#full = !this.#stream.write(frame);
    if (this.#full && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#writable = resolve;
      });
    }
    return !this.#isOver() && !this.#signal.aborted;
  }

  idle(): void {
    if (!this.#full && !this.#stream.closed) this.#full = !this.#stream.write(ping);
  }

  #isOver(): boolean {
    return this.#stream.closed;
  }

  #resume(): void {
    this.#full = false;
    this.#writable?.();
    this.#writable = null;
  }
}

function personOf(principal: Principal, address: string): string {
  return principal.kind === 'anonymous' ? `address ${address}` : principal.userId;
}

/**
 * Owns one thread that sends things, such as archives as zips, any number at once.
 *
 * 1. A slow reader holds no thread: a window of bytes of each is under way, and more come as chunks are taken.
 * 2. When the reading of one ends, for whatever reason, the thread is told and closes what it reads.
 */
import { on } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { ServiceError } from '../../lib/errors.ts';
import { fromFailure } from '../task-failure.ts';
import type { SendReply } from './messages.ts';

type Replies = AsyncIterator<[SendReply], undefined>;

/** `R`: a request without its port; the thread gets it with one. */
export class SendingLane<R extends object> {
  readonly #port: MessagePort;
  readonly #onEmpty: () => void;
  #open = 0;

  /** `onEmpty` is called when the last one is over. */
  constructor(port: MessagePort, onEmpty: () => void) {
    this.#port = port;
    this.#onEmpty = onEmpty;
  }

  get open(): number {
    return this.#open;
  }

  /**
   * The chunks of what the thread sends, of which `windowBytes` are under way. Resolves when nothing keeps it
   * from being sent; else rejects with what the thread says. A later failure, or an abort of `signal`, rejects
   * the reading of the chunks.
   */
  async send(
    request: R,
    windowBytes: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    signal.throwIfAborted();
    const { port1: port, port2 } = new MessageChannel();
    const replies = on(port, 'message', { close: ['close'] }) as Replies;
    const over = this.#begin(port, signal);
    this.#port.postMessage({ ...request, port: port2 }, [port2]);
    port.postMessage(windowBytes);
    try {
      await nextOf(replies, signal);
    } catch (error) {
      over();
      throw error;
    }
    return chunksOf(port, replies, signal, over);
  }

  /** Ends the thread, even while it sends. */
  close(): void {
    this.#port.close();
  }

  #begin(port: MessagePort, signal: AbortSignal): () => void {
    const close = (): void => port.close();
    this.#open++;
    signal.addEventListener('abort', close, { once: true });
    port.once('close', () => {
      signal.removeEventListener('abort', close);
      if (--this.#open === 0) this.#onEmpty();
    });
    return close;
  }
}

async function* chunksOf(
  port: MessagePort,
  replies: Replies,
  signal: AbortSignal,
  over: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const reply = await nextOf(replies, signal);
      if (reply.type === 'end') return;
      if (reply.type !== 'chunk') continue;
      // Whoever takes it may free it.
      const { length } = reply.bytes;
      yield reply.bytes;
      port.postMessage(length);
    }
  } finally {
    over();
  }
}

async function nextOf(replies: Replies, signal: AbortSignal): Promise<SendReply> {
  const { value } = await replies.next();
  signal.throwIfAborted();
  if (value === undefined) {
    throw new ServiceError('OVERLOADED', 'The thread that sent this ended. Ask again.');
  }
  const [reply] = value;
  if (reply.type === 'failed') throw fromFailure(reply.failure);
  return reply;
}

/**
 * Owns the streams of one program in a workload, on the driver's side of a connection of its own.
 *
 * 1. Output that nobody takes is not read from the connection: the runner waits, and the program with it.
 * 2. Of the input a window is on its way at most; the next piece is asked for when there is room.
 * 3. Whatever ends it before the program's end closes the connection: by that the runner ends the program.
 */
import type { Duplex } from 'node:stream';

import type { Clock } from '../../lib/clock.ts';
import type { PipeEnd, PipeSpec } from '../../protocol/workload.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import {
  type PipeFrame,
  type PipeInput,
  pipeWindowBytes,
  type RequestFrame,
  type RunnerFrame,
} from '../../protocol/runner-messages.ts';
import type { Pipe } from '../driver.ts';
import type { ConnectionWay } from './connection.ts';
import { ConnectionLost } from './runner-way.ts';
import { unreachable, within } from './silence.ts';

export interface PipeOptions {
  way: ConnectionWay;
  workload: string;
  spec: PipeSpec;
  input: AsyncIterable<Uint8Array> | null;
  signal: AbortSignal;
  /** Aborts when the runner is gone, or gives no sign of life. */
  lost: AbortSignal;
  clock: Clock;
  /** For the program to begin; how long it then takes is for who asks. */
  answerMs: number;
}

/** Of one frame. */
const pieceBytes = 64 * 1024;

/** Rejects as the runner does; never sent twice, since the program may have run. */
export async function openPipe(options: PipeOptions): Promise<Pipe> {
  options.signal.throwIfAborted();
  const { stream } = await options.way.connect(null).catch((error: unknown) => {
    throw error instanceof ConnectionLost ? unreachable(error) : error;
  });
  const pipe = new ProcessPipe(stream, options);
  await pipe.open(options);
  return pipe;
}

class ProcessPipe implements Pipe {
  readonly ended: Promise<PipeEnd>;
  readonly output: AsyncIterable<Uint8Array>;
  readonly #socket: Duplex;
  readonly #way: ConnectionWay;
  readonly #frames: AsyncGenerator<PipeFrame | RunnerFrame>;
  readonly #end = Promise.withResolvers<PipeEnd>();
  /** Bytes that the program may still be sent; none once it has closed its input. */
  #room = pipeWindowBytes;
  #isDeaf = false;
  #wake: () => void = () => undefined;

  constructor(socket: Duplex, { way, signal, lost }: PipeOptions) {
    this.#socket = socket;
    this.#way = way;
    const abort = (): void => this.#fail(signal.reason);
    const lose = (): void => this.#fail(unreachable());
    signal.addEventListener('abort', abort, { once: true });
    lost.addEventListener('abort', lose, { once: true });
    socket.on('error', () => undefined); // 'close' follows.
    socket.on('drain', () => this.#wake());
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
      lost.removeEventListener('abort', lose);
      lose();
    });
    this.ended = this.#end.promise;
    this.ended.catch(() => undefined); // `output` throws the same.
    this.#frames = framesOf(socket, way);
    this.output = this.#read();
    if (lost.aborted) lose();
    if (signal.aborted) abort();
  }

  async open({ workload, spec, input, clock, answerMs }: PipeOptions): Promise<void> {
    try {
      this.#send({ op: 'pipe', n: 1, workload, spec, hasInput: input !== null });
      await within(clock, clock.now() + answerMs, this.#answered());
    } catch (error) {
      this.#fail(error);
      await this.ended;
    }
    if (input !== null) void this.#feed(input);
  }

  async #answered(): Promise<void> {
    for (;;) {
      const next = await this.#frames.next();
      if (next.done === true) throw unreachable();
      const { value } = next;
      if ('error' in value) throw this.#way.errorOf(value.error);
      if ('ok' in value) return;
    }
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    try {
      for await (const frame of this.#frames) {
        if ('output' in frame) yield frame.output;
        else if (this.#hear(frame)) return;
      }
      this.#fail(unreachable());
      await this.ended;
    } catch (error) {
      this.#fail(error);
      await this.ended;
    } finally {
      this.#fail(new Error('Cannot tell how a program ended: nobody read its output to the end'));
    }
  }

  /** Whether it was the last. */
  #hear(frame: PipeFrame | RunnerFrame): boolean {
    if ('taken' in frame) this.#room += frame.taken;
    if ('deaf' in frame) this.#isDeaf = true;
    if ('failed' in frame) throw this.#way.errorOf(frame.failed);
    this.#wake();
    if (!('ended' in frame)) return false;
    this.#end.resolve(frame.ended);
    return true;
  }

  async #feed(input: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const bytes of input) {
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          await this.#put(bytes.subarray(at, at + pieceBytes));
        }
        // Leaving the loop ends who gives.
        if (this.#isOver) return;
      }
      this.#send({ input: null });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #put(piece: Uint8Array): Promise<void> {
    // Also where the other side says that it has taken more than it has.
    while ((this.#room < piece.length || this.#socket.writableNeedDrain) && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#isOver) return;
    this.#room -= piece.length;
    this.#send({ input: piece });
  }

  /** Whether no more input is wanted. */
  get #isOver(): boolean {
    return this.#isDeaf || this.#socket.destroyed;
  }

  #send(frame: RequestFrame | PipeInput): void {
    if (!this.#socket.destroyed) this.#socket.write(encodeFrame(frame));
  }

  /** Nothing, once its end is known. */
  #fail(reason: unknown): void {
    this.#end.reject(reason);
    this.#socket.destroy();
    this.#wake();
  }
}

async function* framesOf(
  socket: Duplex,
  { decode }: ConnectionWay,
): AsyncGenerator<PipeFrame | RunnerFrame> {
  const decoder = new FrameDecoder(decode ? { decode } : {});
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    yield* decoder.push(chunk) as (PipeFrame | RunnerFrame)[];
  }
}

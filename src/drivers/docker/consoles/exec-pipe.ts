/**
 * Owns the streams of one command in a container, by the connection on which the daemon carries them.
 *
 * 1. Output that nobody takes is not read from the connection: the daemon waits, and the program with it.
 * 2. Of the input no more is asked for than the connection takes.
 * 3. Whatever ends it before the program's end ends the program, with all it started.
 */
import type { Duplex } from 'node:stream';

import type { PipeEnd } from '../../../protocol/workload.ts';
import type { Pipe } from '../../driver.ts';
import { FrameReader } from '../logs/stream-frames.ts';

export interface ExecPipeParts {
  socket: Duplex;
  input: AsyncIterable<Uint8Array> | null;
  signal: AbortSignal;
  /** Ends the program, with everything it started. */
  end: () => Promise<void>;
  /** Rejects when the daemon cannot tell. */
  exitCode: () => Promise<number>;
  /** Called once. */
  over: () => void;
}

/** How much of what it says on stderr is kept. */
const complaintMaxBytes = 4096;

export class ExecPipe implements Pipe {
  readonly ended: Promise<PipeEnd>;
  readonly output: AsyncIterable<Uint8Array>;
  readonly #parts: ExecPipeParts;
  readonly #end = Promise.withResolvers<PipeEnd>();
  #complaint: Buffer = Buffer.alloc(0);
  #isOver = false;

  constructor(parts: ExecPipeParts) {
    this.#parts = parts;
    const { socket, signal, input, over } = parts;
    const abort = (): void => this.fail(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    socket.on('error', () => undefined); // The end of the output tells.
    this.ended = this.#end.promise;
    const done = (): void => {
      signal.removeEventListener('abort', abort);
      over();
    };
    this.ended.then(done, done);
    this.output = this.#read();
    if (signal.aborted) abort();
    else if (input !== null) void this.#feed(input);
  }

  /** Ends it; nothing, once its end is known. */
  fail(reason: unknown): void {
    const { end, socket } = this.#parts;
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end.reject(reason);
    socket.destroy();
    end().catch(() => undefined); // The container's end ends it.
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    const { socket, exitCode } = this.#parts;
    const frames = new FrameReader();
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        for (const { stream, bytes } of frames.push(chunk)) {
          if (stream === 'stdout') yield bytes;
          else this.#complain(bytes);
        }
      }
      const code = await exitCode();
      this.#end.resolve({ exitCode: code, complaint: this.#complaint.toString() });
      this.#isOver = true;
    } catch (error) {
      this.fail(error);
    } finally {
      this.fail(new Error('Cannot tell how a program ended: nobody read its output to the end'));
    }
    await this.ended;
  }

  #complain(bytes: Uint8Array): void {
    this.#complaint = Buffer.concat([this.#complaint, bytes]).subarray(-complaintMaxBytes);
  }

  async #feed(input: AsyncIterable<Uint8Array>): Promise<void> {
    const { socket } = this.#parts;
    try {
      for await (const bytes of input) {
        if (!socket.writable) return;
        // Called when it is out, and when the connection is closed.
        await new Promise((resolve) => socket.write(bytes, resolve));
      }
      socket.end();
    } catch (error) {
      this.fail(error);
    }
  }
}

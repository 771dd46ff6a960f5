/** Owns a response stream in memory that can refuse to take more, for tests. */
import type { FrameSink } from '../../src/logs/viewers/viewer.ts';
import { SseParser } from './sse-parser.ts';
import type { SseEvent } from './sse-parser.ts';

export class MemorySink implements FrameSink {
  closed = false;
  /** Writes it takes before it says that it is full. */
  room = Infinity;
  readonly chunks: Uint8Array[] = [];
  readonly events: SseEvent[] = [];
  readonly parser = new SseParser();
  ended = false;
  #writable: (() => void) | undefined;

  write(chunk: Uint8Array): boolean {
    if (this.ended) throw new Error('Cannot write: the stream has ended');
    this.chunks.push(chunk);
    this.events.push(...this.parser.push(chunk));
    return --this.room > 0;
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  end(lastChunk?: Uint8Array): void {
    if (lastChunk !== undefined) this.write(lastChunk);
    this.ended = true;
    this.closed = true;
  }

  /** The socket drained: takes some writes again. */
  drain(room = Infinity): void {
    this.room = room;
    this.#writable?.();
  }

  get text(): string {
    return this.events
      .filter((event) => event.event === 'data')
      .map((event) => JSON.parse(event.data) as string)
      .join('');
  }

  get kinds(): string[] {
    return this.events.map((event) => event.event);
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? '';
  }

  get comments(): readonly string[] {
    return this.parser.comments;
  }
}

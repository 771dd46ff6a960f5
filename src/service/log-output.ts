/** Owns the log of a serving Gangway, on each of its threads, and its way to standard output. */
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../config.ts';

export function newLogger(config: Config, output: DestinationStream): Logger {
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ level: config.logLevel, base: null, timestamp }, output);
}

/** How long the end waits for a reader. */
const lastWritesMs = 1_000;

/**
 * Lines on their way to standard output.
 *
 * 1. Writing never throws, even while the service ends and afterwards.
 * 2. Every line that is written before the process exits is put out, unless nobody reads it.
 * 3. A reader that does not read does not delay the end.
 */
export class LogOutput implements DestinationStream {
  // This comes first, because it makes Node set a pipe to non-blocking.
  readonly #direct = process.stdout;
  readonly #buffered = pino.destination({
    dest: 1,
    sync: false,
    minLength: 8192,
    periodicFlush: 200,
  });
  #phase: 'open' | 'ending' | 'ended' = 'open';
  /** Lines that came during the end. */
  #late = '';
  #ended: Promise<void> | undefined;

  write(lines: string): void {
    switch (this.#phase) {
      case 'open':
        this.#buffered.write(lines);
        return;
      case 'ending':
        this.#late += lines;
        return;
      case 'ended':
        this.#direct.write(lines);
    }
  }

  /** Resolves once all is written, or soon when nobody reads; then the process should exit. Twice is fine. */
  end(): Promise<void> {
    return (this.#ended ??= this.#end());
  }

  async #end(): Promise<void> {
    this.#phase = 'ending';
    await new Promise<void>((resolve) => {
      const unread = setTimeout(resolve, lastWritesMs);
      this.#buffered.once('close', () => {
        clearTimeout(unread);
        resolve();
      });
      this.#buffered.end();
    });
    // The exit would wait for lines that nobody has read.
    this.#buffered.destroy();
    this.#phase = 'ended';
    this.#direct.write(this.#late);
  }
}

/** Whether anybody reads the lines of requests. */
export function wantsAccessLines({ logLevel }: Config): boolean {
  return logLevel === 'debug' || logLevel === 'info';
}

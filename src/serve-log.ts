/** Owns the log of a serving Gangway, on each of its threads. */
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from './config.ts';

export function newLogger(config: Config, output: DestinationStream): Logger {
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ level: config.logLevel, base: null, timestamp }, output);
}

const lastWritesMs = 1_000;

/** Writes what is left; resolves then, or soon where nobody reads it. The process is to end with that. */
export function endOutput(output: ReturnType<typeof pino.destination>): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, lastWritesMs);
    output.once('close', () => {
      clearTimeout(late);
      resolve();
    });
    output.end();
  });
}

/** Whether anybody reads the lines of requests. */
export function wantsAccessLines({ logLevel }: Config): boolean {
  return logLevel === 'debug' || logLevel === 'info';
}

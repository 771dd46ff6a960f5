/** Owns the log of a serving Gangway, on each of its threads. */
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from './config.ts';

export function newLogger(config: Config, output: DestinationStream): Logger {
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ level: config.logLevel, base: null, timestamp }, output);
}

/** Whether anybody reads the lines of requests. */
export function wantsAccessLines({ logLevel }: Config): boolean {
  return logLevel === 'debug' || logLevel === 'info';
}

/** Owns the runner's own log: JSON lines like Gangway's, on its standard output. */
import type { Logger } from '../../lib/log.ts';

const levels = { debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;

/** The smallest logger that reads like pino's; the runner has no room for pino itself. */
export function createLineLogger(
  write: (line: string) => void,
  minimum: keyof typeof levels,
): Logger {
  const at =
    (level: keyof typeof levels) =>
    (fields: object, event: string): void => {
      if (levels[level] < levels[minimum]) return;
      const line = { level: levels[level], time: Date.now(), pid: process.pid, name: 'runner' };
      write(`${JSON.stringify({ ...line, ...fields, msg: event }, plainError)}\n`);
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}

function plainError(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name: type, message, stack, cause } = value;
  return { type, message, stack, ...Object.fromEntries(Object.entries(value)), cause };
}

/** Owns the smallest logger that reads like pino's, for programs that have no room for pino itself. */
import type { Logger } from './log.ts';

/** Writes to the standard output. `name`: of the program. */
export function lineLogger(name: string): Logger {
  const at =
    (level: number) =>
    (fields: object, event: string): void => {
      const line = { level, time: Date.now(), pid: process.pid, name };
      const text = JSON.stringify({ ...line, ...fields, msg: event }, plainError);
      process.stdout.write(`${text}\n`);
    };
  return { debug: () => undefined, info: at(30), warn: at(40), error: at(50), fatal: at(60) };
}

function plainError(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name: type, message, stack, cause } = value;
  return { type, message, stack, ...Object.fromEntries(Object.entries(value)), cause };
}

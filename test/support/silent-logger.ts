import type { Logger } from '../../src/lib/log.ts';

export interface LogRecord {
  level: 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  fields: object;
  event: string;
}

/** A logger that keeps what it is given, for assertions. */
export function recordingLogger(): Logger & { records: LogRecord[] } {
  const records: LogRecord[] = [];
  const at = (level: LogRecord['level']) => (fields: object, event: string) => {
    records.push({ level, fields, event });
  };
  return {
    records,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}

/** Owns a logger that keeps what it is told, for tests. */
import type { Logger } from '../../src/lib/log.ts';

export interface LoggedEvent {
  level: string;
  event: string;
  fields: object;
}

export function memoryLogger(): Logger & { events: LoggedEvent[] } {
  const events: LoggedEvent[] = [];
  const at = (level: string) => (fields: object, event: string) => {
    events.push({ level, event, fields });
  };
  return {
    events,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}

/** Owns the shape of a logger, so that only the composition root knows the library behind it. */

export interface Logger {
  debug(fields: object, event: string): void;
  info(fields: object, event: string): void;
  warn(fields: object, event: string): void;
  error(fields: object, event: string): void;
  fatal(fields: object, event: string): void;
}

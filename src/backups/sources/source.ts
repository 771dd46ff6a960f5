/** Owns what a source of backups is to the rest of the program. */

/** What is dumped of one target. */
export interface Source {
  /** `app`, or the engine: `postgresql`, `mariadb`, … as databases name theirs. */
  readonly kind: string;
  /** Of the file name before `.gz`: `tar`, `dump` (pg_dump -Fc), `base.tar`, `sql`, `rdb`, `archive`. */
  readonly ending: string;
  /** The bytes before compression, with back-pressure. Throws a ServiceError when the dump fails, also at its end. */
  read(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

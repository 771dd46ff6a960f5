/** Owns which app or database a route names, and the check whether its caller may use it. */
import type { Need, Resource } from '../auth/rights/authorize.ts';
import type { Principal } from '../auth/callers/principal.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { AppRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';

export interface ResourceRights {
  reader: Reader;
  /** Returns when the need is allowed: NOT_FOUND, FORBIDDEN, TWO_FACTOR_REQUIRED. */
  authorize: (reader: Reader, principal: Principal, need: Need, resource: Resource) => void;
}

export type AppOrDatabase = Extract<Resource, { kind: 'app' | 'database' }>;

/** The app or database with this id: NOT_FOUND. The caller must still be authorized. */
export function resourceAt(reader: Reader, kind: AppOrDatabase['kind'], id: string): AppOrDatabase {
  const app = kind === 'app' ? reader.get(tables.apps, id) : undefined;
  if (app !== undefined) return { kind: 'app', app };
  const database = kind === 'database' ? reader.get(tables.databases, id) : undefined;
  if (database !== undefined) return { kind: 'database', database };
  throw new ServiceError('NOT_FOUND', `No such ${kind}.`);
}

/** The app with this id, for a caller with the right to it. */
export function permittedApp(
  { reader, authorize }: ResourceRights,
  principal: Principal,
  id: string,
  need: Need,
): Readonly<AppRecord> {
  const app = reader.get(tables.apps, id);
  if (app === undefined) throw new ServiceError('NOT_FOUND', 'No such app.');
  authorize(reader, principal, need, { kind: 'app', app });
  return app;
}

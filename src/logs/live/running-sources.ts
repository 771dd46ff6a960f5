/** Owns whether the app or database of a log runs, so that lines may come. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { LogName } from '../files/log.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

export function appRuns({ live, next, draining }: Readonly<AppRecord['run']>): boolean {
  return live !== null || next !== null || draining.length > 0;
}

export function databaseRuns(run: Readonly<DatabaseRecord['run']>): boolean {
  const { live, next, initJob, ending } = run;
  return live !== null || next !== null || initJob !== null || ending.length > 0;
}

/** For the log of an app, of a service of its stack, or of a database; whether it runs on this server. */
export function sourceRuns(reader: Pick<Reader, 'get'>, log: LogName, serverId: string): boolean {
  const [kind, name = ''] = log.split(':');
  if (kind === 'db') {
    const database = reader.get(tables.databases, name);
    return database?.serverId === serverId && databaseRuns(database.run);
  }
  if (kind !== 'app') return false;
  const app = reader.get(tables.apps, name.split('.')[0] ?? '');
  return app?.serverId === serverId && appRuns(app.run);
}

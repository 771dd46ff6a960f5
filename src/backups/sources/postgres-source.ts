/** Owns what is dumped of PostgreSQL: by `pg_dump` where a fitting one is, else its files. */
import { outputOf } from '../client-program.ts';
import { postgresClient, postgresEnvironment } from '../postgres-client.ts';
import type { DatabaseTarget } from '../targets.ts';
import { postgresFiles } from './postgres-files.ts';
import { type Source } from './source.ts';
import { ServiceError } from '../../lib/errors.ts';

export async function postgresSource(target: DatabaseTarget): Promise<Source> {
  const program = await postgresClient(target, 'pg_dump');
  if (program !== null) {
    const command = [program, '--format=custom', '--compress=0', '--no-password'];
    const env = postgresEnvironment(target, target.databaseName);
    const read: Source['read'] = (signal) => outputOf(target, { command, env }, signal);
    return { kind: 'postgresql', ending: 'dump', read };
  }
  const { readFolder } = target;
  if (readFolder === null) {
    throw new ServiceError('ENGINE_NOT_AVAILABLE', 'There is no pg_dump for this PostgreSQL.');
  }
  const read: Source['read'] = (signal) => postgresFiles(target, readFolder, signal);
  return { kind: 'postgresql', ending: 'base.tar', read };
}

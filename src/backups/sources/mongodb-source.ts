/** Owns what is dumped of MongoDB: an archive of `mongodump`. */
import { outputOf } from '../client-program.ts';
import { mongodbClient } from '../mongodb-client.ts';
import type { DatabaseTarget } from '../targets.ts';
import type { Source } from './source.ts';

export function mongodbSource(target: DatabaseTarget): Promise<Source> {
  const spec = mongodbClient(target, 'mongodump', [`--db=${target.databaseName}`]);
  const read: Source['read'] = (signal) => outputOf(target, spec, signal);
  return Promise.resolve({ kind: 'mongodb', ending: 'archive', read });
}

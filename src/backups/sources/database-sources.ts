/** Owns which source a database has, by its engine and what there is on its server. */
import { clickhouseSource } from './clickhouse-source.ts';
import { mariadbSource } from './mariadb-source.ts';
import { mongodbSource } from './mongodb-source.ts';
import { postgresSource } from './postgres-source.ts';
import { redisSource } from './redis-source.ts';
import type { DatabaseTarget } from '../targets.ts';
import type { Source } from './source.ts';

export async function databaseSource(target: DatabaseTarget): Promise<Source> {
  switch (target.engine) {
    case 'POSTGRES':
      return postgresSource(target);
    case 'MARIADB':
    case 'MYSQL':
      return mariadbSource(target);
    case 'REDIS':
      return redisSource(target);
    case 'MONGODB':
      return mongodbSource(target);
    case 'CLICKHOUSE':
      return clickhouseSource(target);
  }
}

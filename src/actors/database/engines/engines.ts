/** Owns the list of database engines. */
import type { DatabaseEngine } from '../../../store/records/records.ts';
import { clickhouse } from './clickhouse.ts';
import type { Engine } from './engine.ts';
import { mariadb, mysql } from './mariadb.ts';
import { mongodb } from './mongodb.ts';
import { postgres } from './postgres.ts';
import { redis } from './redis.ts';

export const engines: Readonly<Record<DatabaseEngine, Engine>> = {
  POSTGRES: postgres,
  MYSQL: mysql,
  MARIADB: mariadb,
  MONGODB: mongodb,
  REDIS: redis,
  CLICKHOUSE: clickhouse,
};

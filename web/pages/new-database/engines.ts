/** Owns what is said of each engine. */
import type { Enum } from '../../api/graphql.ts';

export type Engine = Enum<'DatabaseEngine'>;

interface About {
  label: string;
  what: string;
}

export const engines: Readonly<Record<Engine, About>> = {
  POSTGRES: { label: 'PostgreSQL', what: 'SQL, extensions, a safe first choice' },
  MYSQL: { label: 'MySQL', what: 'SQL, for what is written for it' },
  MARIADB: { label: 'MariaDB', what: 'SQL, close to MySQL' },
  MONGODB: { label: 'MongoDB', what: 'Documents' },
  REDIS: { label: 'Redis', what: 'Cache, queues, short-lived data' },
  CLICKHOUSE: { label: 'ClickHouse', what: 'Analytics over many rows' },
};

export const engineNames = Object.keys(engines) as Engine[];

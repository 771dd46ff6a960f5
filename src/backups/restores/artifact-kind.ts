/**
 * Owns how an artifact tells what it is a backup of. It stands in the artifact's own bytes, whatever its file
 * is called, so that nothing of another kind reaches a target.
 */
import { ServiceError } from '../../lib/errors.ts';
import { artifactFile } from '../../store/files/snapshot.ts';
import type { DatabaseEngine } from '../../store/records/records.ts';

/** What an artifact is a backup of: as sources name their kinds. */
export type SourceKind =
  'instance' | 'app' | 'postgresql' | 'mysql' | 'mariadb' | 'mongodb' | 'redis' | 'clickhouse';

export interface ArtifactKind {
  source: SourceKind;
  form: 'tar' | 'dump' | 'base.tar' | 'sql' | 'archive' | 'rdb' | 'backup';
}

/** So many bytes behind the compression are enough to tell. */
export const kindBytes = 512;

const names: Readonly<Record<SourceKind, string>> = {
  instance: 'an instance of Gangway',
  app: 'an app',
  postgresql: 'a PostgreSQL database',
  mysql: 'a MySQL database',
  mariadb: 'a MariaDB database',
  mongodb: 'a MongoDB database',
  redis: 'a Redis database',
  clickhouse: 'a ClickHouse database',
};

const sources: Readonly<Record<DatabaseEngine, SourceKind>> = {
  POSTGRES: 'postgresql',
  MYSQL: 'mysql',
  MARIADB: 'mariadb',
  MONGODB: 'mongodb',
  REDIS: 'redis',
  CLICKHOUSE: 'clickhouse',
};

/** Null for an app. */
export function sourceOf(engine: DatabaseEngine | null): SourceKind {
  return engine === null ? 'app' : sources[engine];
}

/** What the first bytes behind the compression tell: of a tar its names have to tell the rest. */
export function kindOf(head: Uint8Array): ArtifactKind | 'tar' | null {
  const text = Buffer.from(head.subarray(0, kindBytes)).toString('latin1');
  if (text.startsWith('PGDMP')) return { source: 'postgresql', form: 'dump' };
  if (text.startsWith('REDIS') || text.startsWith('VALKEY'))
    return { source: 'redis', form: 'rdb' };
  // The magic number of mongodump's archives, the lowest byte first.
  if (text.startsWith('\x6d\xe2\x99\x81')) return { source: 'mongodb', form: 'archive' };
  if (text.slice(257, 262) === 'ustar') return 'tar';
  if (text.startsWith('PK\x03\x04')) return { source: 'clickhouse', form: 'backup' };
  if (!/^(--|\/\*!|\/\*M!)/.test(text)) return null;
  return { source: /MariaDB|^\/\*M!/.test(text) ? 'mariadb' : 'mysql', form: 'sql' };
}

/** It replaces everything, so that nothing of an instance that runs can take it. */
export function ofInstance(): ServiceError {
  const detail =
    'This is a backup of the instance itself: `gangway restore <artifact> --identity <file>` puts it in the place of an empty data directory.';
  return new ServiceError('ARTIFACT_UNFIT', detail);
}

/** What the names of a tar tell, of which it is enough to know those at its root. */
export function kindOfTar(root: ReadonlySet<string>): ArtifactKind | null {
  if (root.has(artifactFile)) return { source: 'instance', form: 'tar' };
  if (root.has('app.json')) return { source: 'app', form: 'tar' };
  if (root.has('PG_VERSION')) return { source: 'postgresql', form: 'base.tar' };
  if (root.has('.backup')) return { source: 'clickhouse', form: 'backup' };
  return null;
}

/** Throws ARTIFACT_UNFIT unless it is a backup of what it is restored into. */
export function checkFits(kind: ArtifactKind | null, wanted: SourceKind): ArtifactKind {
  if (kind?.source === wanted) return kind;
  if (kind?.source === 'instance') throw ofInstance();
  throw misfit(kind, wanted);
}

export function misfit(kind: ArtifactKind | null, wanted: SourceKind): ServiceError {
  const is = kind === null ? 'no backup that is known here' : `a backup of ${names[kind.source]}`;
  const detail = `The file is ${is}; this is ${names[wanted]}.`;
  return new ServiceError('ARTIFACT_UNFIT', detail);
}

/** Owns which restorer an artifact has. */
import { ServiceError } from '../../lib/errors.ts';
import type { DatabaseTarget } from '../targets.ts';
import { mariadbRestorer } from './mariadb-restorer.ts';
import { postgresFilesRestorer } from './postgres-files-restorer.ts';
import { postgresDumpRestorer } from './postgres-restorer.ts';
import { redisRestorer } from './redis-restorer.ts';
import type { Restorer } from './restorer.ts';
import { unfit } from './failures.ts';

export interface Artifact {
  /** As the source says them. */
  kind: string;
  ending: string;
  /** Whether this instance dumped it, as its hash shows: somebody else may have put anything in it. */
  isOwn: boolean;
}

/** Throws ARTIFACT_UNFIT, ENGINE_NOT_AVAILABLE. */
export function databaseRestorer(target: DatabaseTarget, { ending, isOwn }: Artifact): Restorer {
  switch (target.engine) {
    case 'POSTGRES':
      if (ending === 'dump') return postgresDumpRestorer(target);
      if (ending !== 'base.tar') break;
      if (isOwn) return postgresFilesRestorer(target);
      throw unfit(
        'A base backup comes back only where it was made. A dump of pg_dump comes anywhere.',
      );
    case 'MARIADB':
    case 'MYSQL':
      if (ending === 'sql') return mariadbRestorer(target);
      break;
    case 'REDIS':
      if (ending === 'rdb') return redisRestorer(target);
      break;
    case 'MONGODB':
    case 'CLICKHOUSE':
      throw new ServiceError(
        'ENGINE_NOT_AVAILABLE',
        'This engine cannot be restored from here yet.',
      );
  }
  throw unfit('The artifact is of another engine.');
}

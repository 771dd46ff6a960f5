/** Owns which restorer an artifact has, and what ends a restore of its engine that was cut off. */
import { ServiceError } from '../../lib/errors.ts';
import type { DatabaseEngine } from '../../store/records/records.ts';
import type { DatabaseTarget } from '../targets.ts';
import { mariadbRestorer, recoverMariadb } from './mariadb-restorer.ts';
import { postgresFilesRestorer } from './postgres-files-restorer.ts';
import { postgresDumpRestorer, recoverPostgres } from './postgres-restorer.ts';
import { redisRestorer } from './redis-restorer.ts';
import type { SwapState } from './restorer-of.ts';
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

export interface DatabaseRecovering {
  engine: DatabaseEngine;
  isReplaced: boolean;
  /** Starts its server where that does not run. */
  target: () => Promise<DatabaseTarget>;
  signal: AbortSignal;
}

/** See `Recover`. Folders that were exchanged are back already. */
export async function recoverDatabase(of: DatabaseRecovering): Promise<SwapState> {
  const { engine, isReplaced } = of;
  switch (engine) {
    case 'POSTGRES':
    case 'MARIADB':
    case 'MYSQL': {
      const state = recoverBeside(of);
      if (!isReplaced) return await state;
      // What is beside the live database the next restore removes, too.
      await state.catch(() => undefined);
      return 'restored';
    }
    case 'REDIS':
      return isReplaced ? 'restored' : 'previous';
    case 'MONGODB':
    case 'CLICKHOUSE':
      return isReplaced ? 'restored' : null;
  }
}

async function recoverBeside({ engine, target, signal }: DatabaseRecovering): Promise<SwapState> {
  const server = await target();
  return engine === 'POSTGRES'
    ? await recoverPostgres(server)
    : await recoverMariadb(server, signal);
}

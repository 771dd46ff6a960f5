/** Owns which restorer an artifact has, and what ends a restore of its engine that was cut off. */
import type { DatabaseEngine } from '../../store/records/records.ts';
import type { DatabaseTarget } from '../targets.ts';
import { clickhouseRestorer } from './clickhouse-restorer.ts';
import { mariadbRestorer, recoverMariadb } from './mariadb-restorer.ts';
import { mongodbRestorer } from './mongodb-restorer.ts';
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
  /** Its length, unpacked. */
  bytes: number;
}

/** Throws ARTIFACT_UNFIT. */
export function databaseRestorer(target: DatabaseTarget, artifact: Artifact): Restorer {
  const { ending, isOwn, bytes } = artifact;
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
      if (ending === 'rdb') return redisRestorer(target, bytes);
      break;
    case 'MONGODB':
      if (ending === 'archive') return mongodbRestorer(target);
      break;
    case 'CLICKHOUSE':
      if (ending === 'backup') return clickhouseRestorer(target);
      break;
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

/** See `Recover`. Folders and volumes that were exchanged are back already. */
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
    case 'MONGODB':
    case 'CLICKHOUSE':
      return isReplaced ? 'restored' : 'previous';
  }
}

async function recoverBeside({ engine, target, signal }: DatabaseRecovering): Promise<SwapState> {
  const server = await target();
  return engine === 'POSTGRES'
    ? await recoverPostgres(server)
    : await recoverMariadb(server, signal);
}

/** Owns what there is to see of a change in a team, whoever looks: read from the store once for all who follow it. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type {
  AppRecord,
  BackupRunRecord,
  DatabaseRecord,
  DeploymentRecord,
  RestoreRunRecord,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { Thing } from './team-things.ts';

/** What is told of a change. Frozen, so that its text is written once for all who are told the same. */
export interface Told {
  readonly kind: string;
  readonly id: string;
  readonly app: Readonly<AppRecord> | null;
  readonly database: Readonly<DatabaseRecord> | null;
  readonly deployment: Readonly<DeploymentRecord> | null;
  readonly backupRun: Readonly<BackupRunRecord> | null;
  readonly restoreRun: Readonly<RestoreRunRecord> | null;
}

export interface Look {
  /** By what the right to see it is judged: the app, of a preview the app that it is of, or the database. */
  readonly node: Readonly<AppRecord | DatabaseRecord> | undefined;
  /** For who sees the app or database. */
  readonly there: Told;
  /** For who sees it in trash: its backups are still there. */
  readonly trashed: Told;
  /** For who saw it. */
  readonly gone: Told;
}

const nothing = { app: null, database: null, deployment: null, backupRun: null, restoreRun: null };

export function tellOf(kind: string, id: string, more: Partial<Told> = {}): Told {
  return Object.freeze({ kind, id, ...nothing, ...more });
}

export function lookAt(reader: Reader, { kind, id, nodeId }: Thing): Look {
  const gone = tellOf(kind, id);
  const node = nodeId === null ? undefined : findNode(reader, nodeId);
  const backup = {
    backupRun: kind === 'backupRun' ? (reader.get(tables.backupRuns, id) ?? null) : null,
    restoreRun: kind === 'restoreRun' ? (reader.get(tables.restoreRuns, id) ?? null) : null,
  };
  const trashed = tellOf(kind, id, backup);
  return { node, gone, trashed, there: tellOf(kind, id, { ...backup, ...live() }) };

  function live(): Partial<Told> {
    switch (kind) {
      case 'app':
        return { app: reader.get(tables.apps, id) ?? null };
      case 'domain':
        return { app: reader.get(tables.apps, nodeId ?? '') ?? null };
      case 'database':
        return { database: reader.get(tables.databases, id) ?? null };
      case 'deployment':
        return { deployment: reader.get(tables.deployments, id) ?? null };
      default:
        return {};
    }
  }
}

/** The rights to a preview are those to its app. */
function findNode(reader: Reader, nodeId: string): Look['node'] {
  const app = reader.get(tables.apps, nodeId);
  if (app?.previewOf === undefined || app.deletedAtMs !== null) {
    return app ?? reader.get(tables.databases, nodeId);
  }
  return reader.get(tables.apps, app.previewOf.appId);
}

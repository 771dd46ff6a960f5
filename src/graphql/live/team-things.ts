/** Owns which records are things of a team that people follow, and what each is of. */
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';

export type ThingKind = (typeof kinds)[keyof typeof kinds];

/** The kind of thing that the records of a table are. */
const kinds = {
  apps: 'app',
  databases: 'database',
  deployments: 'deployment',
  backupRuns: 'backupRun',
  backupSchedules: 'backupSchedule',
  restoreRuns: 'restoreRun',
  previews: 'preview',
  domains: 'domain',
  trash: 'trash',
  folders: 'folder',
  members: 'member',
  roles: 'role',
  teams: 'team',
} as const satisfies Partial<Record<keyof typeof tables, string>>;

export interface Thing {
  readonly kind: ThingKind;
  readonly id: string;
  /** The app or database that it is of, or that it is; null for a thing of the team itself. */
  readonly nodeId: string | null;
}

/** What is read of a record, whatever it is. */
interface Stored {
  id?: string;
  teamId?: string;
  appId?: string;
  targetId?: string;
  userId?: string;
}

export function kindOf(table: string): ThingKind | null {
  return table in kinds ? kinds[table as keyof typeof kinds] : null;
}

/** The thing that a record is, and whose; null for what is no thing of a team. */
export function readThing(table: string, value: unknown): (Thing & { teamId: string }) | null {
  const kind = kindOf(table);
  if (kind === null || typeof value !== 'object' || value === null) return null;
  const { id = '', teamId = id, appId, targetId, userId = '' } = value as Stored;
  switch (kind) {
    case 'member':
      return { kind, id: userId, nodeId: null, teamId };
    case 'app':
    case 'database':
      return { kind, id, nodeId: id, teamId };
    case 'folder':
    case 'role':
    case 'team':
      return { kind, id, nodeId: null, teamId };
    default:
      return { kind, id, nodeId: appId ?? targetId ?? null, teamId };
  }
}

const all = { limit: Infinity };

/** Things of which little is there, each with its table: whose removal says no more than their id. */
export function* removableThings(reader: Reader, teamId: string): Iterable<[string, Thing]> {
  const lists = {
    trash: reader.list(tables.trash, 'team', [teamId], all),
    folders: reader.list(tables.folders, 'team', [teamId], all),
    roles: reader.list(tables.roles, 'team', [teamId], all),
    domains: reader.list(tables.domains, 'claim', [teamId], all),
  };
  for (const [table, records] of Object.entries(lists)) {
    for (const record of records) {
      const thing = readThing(table, record);
      if (thing) yield [table, thing];
    }
  }
}

export function isRemovable(table: string): boolean {
  return ['trash', 'folders', 'roles', 'domains', 'previews'].includes(table);
}

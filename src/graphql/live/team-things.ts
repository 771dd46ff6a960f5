/** Owns which records are things of a team that people follow, and what each is of. */
import type { Capability } from '../../lib/capabilities.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';

export type ThingKind = (typeof kinds)[keyof typeof kinds];

/** The kind of thing that the records of a table are. */
const kinds = {
  apps: 'app',
  databases: 'database',
  deployments: 'deployment',
  env: 'env',
  destinations: 'destination',
  gitConnections: 'gitConnection',
  gitDeliveries: 'gitDelivery',
  registries: 'registry',
  invites: 'invite',
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

/** Of things of the team itself: what it takes to hear of them, where not everybody who is in it may. */
export const needed: Readonly<Partial<Record<ThingKind, Capability>>> = {
  gitConnection: 'manage_git',
  registry: 'manage_registries',
  invite: 'manage_members',
};

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
    case 'env':
      // Its key says what it is of: see TeamFeed.
      return null;
    case 'folder':
    case 'role':
    case 'team':
    case 'destination':
    case 'gitConnection':
    case 'registry':
    case 'invite':
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
    destinations: reader.list(tables.destinations, 'team', [teamId], all),
    gitConnections: reader.list(tables.gitConnections, 'team', [teamId], all),
    registries: reader.list(tables.registries, 'team', [teamId], all),
    invites: reader.list(tables.invites, 'team', [teamId], all),
    domains: reader.list(tables.domains, 'claim', [teamId], all),
  };
  for (const [table, records] of Object.entries(lists)) {
    for (const record of records) {
      const thing = readThing(table, record);
      if (thing) yield [table, thing];
    }
  }
}

const removable: ReadonlySet<string> = new Set([
  ...['trash', 'folders', 'roles', 'domains', 'previews'],
  ...['destinations', 'gitConnections', 'registries', 'invites'],
]);

export function isRemovable(table: string): boolean {
  return removable.has(table);
}

/**
 * Owns how resolvers look things up: the record together with the right to it, so that no topic
 * can have one without the other.
 *
 * 1. A look-up that may be null answers null for what the caller cannot see; one that may not, and
 *    every mutation, answers NOT_FOUND.
 * 2. Who is not signed in gets UNAUTHENTICATED, whatever exists.
 */
import type { ActorRef, AskOptions, Protocol } from '../actors/runtime/actor.ts';
import {
  actingTeam,
  authorize,
  can,
  type Need,
  type Resource,
  seesWhole,
} from '../auth/rights/authorize.ts';
import { resourceOfBackup } from '../auth/rights/backup-resource.ts';
import type { SignedIn } from '../auth/callers/principal.ts';
import { ServiceError } from '../lib/errors.ts';
import type {
  AppRecord,
  BackupRunRecord,
  BackupScheduleRecord,
  BackupTarget,
  DatabaseRecord,
  DeploymentRecord,
  DestinationRecord,
  DomainRecord,
  FolderRecord,
  GitConnectionRecord,
  PreviewRecord,
  RestoreRunRecord,
} from '../store/records/records.ts';
import type { Table } from '../store/records/table.ts';
import { tables } from '../store/records/tables.ts';
import type { GraphContext, HttpSide, WriteSide } from './context.ts';

export function requireSignedIn(context: GraphContext): SignedIn {
  if (context.principal.kind === 'anonymous') {
    throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
  }
  return context.principal;
}

/** A person by cookie; a token never reaches the account. */
export function requirePerson(context: GraphContext): Extract<SignedIn, { kind: 'person' }> {
  const principal = requireSignedIn(context);
  if (principal.kind !== 'person') {
    throw new ServiceError('FORBIDDEN', 'An API token cannot do this; sign in.');
  }
  return principal;
}

/** The acting team's id, once the caller is known to hold `need` over it. */
export function requireTeam(context: GraphContext, need: Need): string {
  const teamId = actingTeam(context.principal);
  authorize(context.read.reader, context.principal, need, { kind: 'team', teamId });
  return teamId;
}

export function requireAdmin(context: GraphContext): void {
  authorize(context.read.reader, context.principal, 'admin', { kind: 'instance' });
}

const resourceOf = {
  app: (app: Readonly<AppRecord>): Resource => ({ kind: 'app', app }),
  database: (database: Readonly<DatabaseRecord>): Resource => ({ kind: 'database', database }),
  folder: (folder: Readonly<FolderRecord>): Resource => ({ kind: 'folder', folder }),
};

type Require<R> = (context: GraphContext, id: string, need: Need) => Readonly<R>;

/** Looks a thing of this kind up by id, with the right to it. */
function requireById<R>(
  kind: keyof typeof resourceOf,
  table: Table<R>,
  asResource: (record: Readonly<R>) => Resource,
): Require<R> {
  return (context, id, need) => {
    requireSignedIn(context);
    const { reader } = context.read;
    const record = reader.get(table, id);
    if (!record) throw new ServiceError('NOT_FOUND', `No such ${kind}.`);
    authorize(reader, context.principal, need, asResource(record));
    return record;
  };
}

export const requireApp = requireById('app', tables.apps, resourceOf.app);
export const requireDatabase = requireById('database', tables.databases, resourceOf.database);
export const requireFolder = requireById('folder', tables.folders, resourceOf.folder);

export const requireDeployment: Require<DeploymentRecord> = (context, id, need) => {
  requireSignedIn(context);
  const deployment = context.read.reader.get(tables.deployments, id);
  if (!deployment) throw new ServiceError('NOT_FOUND', 'No such deployment.');
  requireApp(context, deployment.appId, need);
  return deployment;
};

/** A preview, for who may do it to its app. */
export const requirePreview: Require<PreviewRecord> = (context, id, need) => {
  requireSignedIn(context);
  const preview = context.read.reader.get(tables.previews, id);
  if (!preview) throw new ServiceError('NOT_FOUND', 'No such preview.');
  requireApp(context, preview.appId, need);
  return preview;
};

/** A domain, for who may do it to its app. */
export const requireDomain: Require<DomainRecord> = (context, id, need) => {
  requireSignedIn(context);
  const domain = context.read.reader.get(tables.domains, id);
  if (!domain) throw new ServiceError('NOT_FOUND', 'No such domain.');
  requireApp(context, domain.appId, need);
  return domain;
};

/** A destination of the acting team. */
export const requireDestination: Require<DestinationRecord> = (context, id, need) => {
  const teamId = requireTeam(context, need);
  const destination = context.read.reader.get(tables.destinations, id);
  if (destination?.teamId === teamId) return destination;
  throw new ServiceError('NOT_FOUND', 'No such destination.');
};

/** A git connection of the acting team. */
export const requireGitConnection: Require<GitConnectionRecord> = (context, id, need) => {
  const teamId = requireTeam(context, need);
  const connection = context.read.reader.get(tables.gitConnections, id);
  if (connection?.teamId === teamId) return connection;
  throw new ServiceError('NOT_FOUND', 'No such git connection.');
};

type OfTarget = BackupTarget & { teamId: string };

const requireOfTarget =
  <R extends OfTarget>(what: string, table: Table<R>): Require<R> =>
  (context, id, need) => {
    const record = findOfTarget(context, table, id);
    if (record === null) throw new ServiceError('NOT_FOUND', `No such ${what}.`);
    const { reader } = context.read;
    authorize(reader, context.principal, need, resourceOfBackup(reader, record));
    return record;
  };

/** Runs and schedules belong to an app or a database, also one in trash, or gone for good. */
export const requireBackupRun = requireOfTarget<BackupRunRecord>('backup', tables.backupRuns);
export const requireBackupSchedule = requireOfTarget<BackupScheduleRecord>(
  'schedule',
  tables.backupSchedules,
);

export function findBackupRun(context: GraphContext, id: string): Readonly<BackupRunRecord> | null {
  return findOfTarget(context, tables.backupRuns, id);
}

export function findRestoreRun(
  context: GraphContext,
  id: string,
): Readonly<RestoreRunRecord> | null {
  return findOfTarget(context, tables.restoreRuns, id);
}

function findOfTarget<R extends OfTarget>(
  context: GraphContext,
  table: Table<R>,
  id: string,
): Readonly<R> | null {
  const { reader } = context.read;
  const found = visible(context, reader.get(table, id), (record) =>
    resourceOfBackup(reader, record),
  );
  return found !== null && seesBackup(context, found) ? found : null;
}

/** For a principal that sees the team: whether it sees the backups of this target. */
export function seesBackup({ read, principal }: GraphContext, of: Readonly<OfTarget>): boolean {
  const resource = resourceOfBackup(read.reader, of);
  // What is left of something that is gone lies in no folder and no scope but the whole team.
  if (resource.kind === 'team') return seesWhole(read.reader, principal, of.teamId);
  return can(read.reader, principal, null, resource);
}

/** The team of a folder, or without one the acting team; its id. */
export function requirePlace(
  context: GraphContext,
  folderId: string | null | undefined,
  need: Need,
): string {
  if (folderId == null) return requireTeam(context, need);
  return requireFolder(context, folderId, need).teamId;
}

/** A database by id, or null where the caller sees none. */
export function findDatabase(context: GraphContext, id: string): Readonly<DatabaseRecord> | null {
  return visible(context, context.read.reader.get(tables.databases, id), resourceOf.database);
}

/** An app by id, or null where the caller sees none. */
export function findApp(context: GraphContext, id: string): Readonly<AppRecord> | null {
  return visible(context, context.read.reader.get(tables.apps, id), resourceOf.app);
}

export function findAppBySlug(context: GraphContext, slug: string): Readonly<AppRecord> | null {
  return visible(context, context.read.reader.find(tables.apps, 'slug', [slug]), resourceOf.app);
}

export function findDeployment(
  context: GraphContext,
  id: string,
): Readonly<DeploymentRecord> | null {
  requireSignedIn(context);
  const deployment = context.read.reader.get(tables.deployments, id);
  return deployment && findApp(context, deployment.appId) ? deployment : null;
}

function visible<R>(
  context: GraphContext,
  record: Readonly<R> | undefined,
  asResource: (record: Readonly<R>) => Resource,
): Readonly<R> | null {
  requireSignedIn(context);
  if (!record) return null;
  // Not `can`: a team's missing two-factor must be said, only the unseen is null.
  try {
    authorize(context.read.reader, context.principal, null, asResource(record));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
  return record;
}

export function canSeeFolder({ read, principal }: GraphContext, folderId: string): boolean {
  const folder = read.reader.get(tables.folders, folderId);
  return folder !== undefined && can(read.reader, principal, null, resourceOf.folder(folder));
}

/** The folder that something the caller sees is in; null where the caller does not see the folder. */
export function seenFolderId(context: GraphContext, folderId: string | null): string | null {
  // A person who sees a thing sees its folder; a token may be for the thing alone.
  if (folderId === null || context.principal.kind !== 'token') return folderId;
  return canSeeFolder(context, folderId) ? folderId : null;
}

/** NOT_FOUND for a server that is not there, BAD_USER_INPUT for one that nothing is put on; null: the one that is chosen. */
export function requireServer({ read }: GraphContext, serverId: string | null): void {
  const { id, runtime } = read.settings.server;
  if (serverId === null || serverId === id) return;
  const server = read.reader.get(tables.servers, serverId);
  if (server?.agent !== undefined) return;
  const isKnown = runtime === 'swarm' && server !== undefined;
  if (!isKnown) throw new ServiceError('NOT_FOUND', 'No such server.');
  throw new ServiceError('BAD_USER_INPUT', `serverId: everything of a swarm is put on ${id}.`);
}

/** The write side; absent only where a mutation was sent to the wrong thread. */
export function writeSide(context: GraphContext): WriteSide {
  if (!context.write) throw new Error('A change was asked for on a thread that only reads.');
  return context.write;
}

/** Asks an actor for a change, and waits until it is durable. */
export function askActor<P extends Protocol, T extends keyof P & string>(
  context: GraphContext,
  to: ActorRef<P>,
  message: { type: T } & P[T]['in'],
  options?: AskOptions,
): Promise<P[T]['out']> {
  return writeSide(context).actors.ask(to, message, options);
}

export function httpSide(context: GraphContext): HttpSide {
  const { http } = context.call;
  if (http) return http;
  throw new ServiceError('FORBIDDEN', 'Sign-in works over the GraphQL endpoint only.');
}

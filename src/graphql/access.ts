/**
 * Owns how resolvers look things up: the record together with the right to it, so that no topic
 * can have one without the other.
 *
 * 1. A look-up that may be null answers null for what the caller cannot see; one that may not, and
 *    every mutation, answers NOT_FOUND.
 * 2. Who is not signed in gets UNAUTHENTICATED, whatever exists.
 */
import { actingTeam, authorize } from '../auth/rights/authorize.ts';
import type { Need, Resource } from '../auth/rights/authorizer.ts';
import type { SignedIn } from '../auth/callers/principal.ts';
import { ServiceError } from '../lib/errors.ts';
import type {
  AppRecord,
  DatabaseRecord,
  DeploymentRecord,
  FolderRecord,
} from '../store/records/records.ts';
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

export function requireApp(context: GraphContext, id: string, need: Need): Readonly<AppRecord> {
  requireSignedIn(context);
  const app = context.read.reader.get(tables.apps, id);
  if (!app) throw new ServiceError('NOT_FOUND', 'No such app.');
  authorize(context.read.reader, context.principal, need, { kind: 'app', app });
  return app;
}

export function requireDatabase(
  context: GraphContext,
  id: string,
  need: Need,
): Readonly<DatabaseRecord> {
  requireSignedIn(context);
  const database = context.read.reader.get(tables.databases, id);
  if (!database) throw new ServiceError('NOT_FOUND', 'No such database.');
  authorize(context.read.reader, context.principal, need, { kind: 'database', database });
  return database;
}

/** A database by id, or null where the caller sees none. */
export function findDatabase(context: GraphContext, id: string): Readonly<DatabaseRecord> | null {
  const database = context.read.reader.get(tables.databases, id);
  return visible(context, database, (found) => ({ kind: 'database', database: found }));
}

/** An app by id, or null where the caller sees none. */
export function findApp(context: GraphContext, id: string): Readonly<AppRecord> | null {
  return visible(context, context.read.reader.get(tables.apps, id), asApp);
}

export function findAppBySlug(context: GraphContext, slug: string): Readonly<AppRecord> | null {
  return visible(context, context.read.reader.find(tables.apps, 'slug', [slug]), asApp);
}

const asApp = (app: Readonly<AppRecord>): Resource => ({ kind: 'app', app });

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

export function findDeployment(
  context: GraphContext,
  id: string,
): Readonly<DeploymentRecord> | null {
  requireSignedIn(context);
  const deployment = context.read.reader.get(tables.deployments, id);
  return deployment && findApp(context, deployment.appId) ? deployment : null;
}

export function requireDeployment(
  context: GraphContext,
  id: string,
  need: Need,
): Readonly<DeploymentRecord> {
  requireSignedIn(context);
  const deployment = context.read.reader.get(tables.deployments, id);
  if (!deployment) throw new ServiceError('NOT_FOUND', 'No such deployment.');
  requireApp(context, deployment.appId, need);
  return deployment;
}

export function requireFolder(
  context: GraphContext,
  id: string,
  need: Need,
): Readonly<FolderRecord> {
  requireSignedIn(context);
  const folder = context.read.reader.get(tables.folders, id);
  if (!folder) throw new ServiceError('NOT_FOUND', 'No such folder.');
  authorize(context.read.reader, context.principal, need, { kind: 'folder', folder });
  return folder;
}

/** NOT_FOUND for a server that is not there, BAD_USER_INPUT for one that nothing is put on; null: the one that is chosen. */
export function requireServer({ read }: GraphContext, serverId: string | null): void {
  const { id, runtime } = read.settings.server;
  if (serverId === null || serverId === id) return;
  const isKnown = runtime === 'swarm' && read.reader.get(tables.servers, serverId) !== undefined;
  if (!isKnown) throw new ServiceError('NOT_FOUND', 'No such server.');
  throw new ServiceError('BAD_USER_INPUT', `serverId: everything of a swarm is put on ${id}.`);
}

/** The write side; absent only where a mutation was sent to the wrong thread. */
export function writeSide(context: GraphContext): WriteSide {
  if (!context.write) throw new Error('A change was asked for on a thread that only reads.');
  return context.write;
}

export function httpSide(context: GraphContext): HttpSide {
  if (!context.http) {
    throw new ServiceError('FORBIDDEN', 'Sign-in works over the GraphQL endpoint only.');
  }
  return context.http;
}

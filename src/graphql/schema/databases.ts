/** Owns databases in the schema. Their passwords leave only by what is marked as secret. */
import { maskedUrl } from '../../actors/database/settings/address.ts';
import { databaseActor } from '../../actors/database/protocol.ts';
import type { NewDatabase } from '../../actors/database/protocol.ts';
import { appsReferringTo } from '../../actors/database/settings/references.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { can, seenApps, seenDatabases } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { databaseEngines } from '../../store/records/records.ts';
import type { DatabaseRecord } from '../../store/records/records.ts';
import type { Resources } from '../../protocol/workload.ts';
import { tables } from '../../store/records/tables.ts';
import {
  findDatabase,
  requireDatabase,
  requireFolder,
  requireServer,
  requireTeam,
  writeSide,
} from '../access.ts';
import type { GraphContext } from '../context.ts';
import type { addAppChanges } from './app-changes.ts';
import type { addAppParts } from './app-parts.ts';
import type { addApps } from './apps.ts';
import { type Builder, secret } from './builder.ts';
import { ofRecord } from '../record-fields.ts';

export interface DatabaseTypes {
  app: ReturnType<typeof addApps>['app'];
  leaves: ReturnType<typeof addAppParts>;
  inputs: ReturnType<typeof addAppChanges>;
}

/** As many as a team may have. */
const listMax = 1_000;
/** Behind the time that a server on the machine is looked for. */
const createMs = 120_000;
/** So many apps are named in a refusal; it has to fit a log line and a dialog. */
const namedMax = 20;

export function addDatabases(builder: Builder, types: DatabaseTypes) {
  const engine = builder.enumType('DatabaseEngine', { values: databaseEngines });
  const database = addDatabase(builder, types, engine);
  builder.queryFields((t) => ({
    databases: t.field({
      type: [database],
      description: 'The databases of the acting team that the caller can see, the oldest first.',
      resolve: (_root, _args, context) => {
        const { reader } = context.read;
        const teamId = requireTeam(context, null);
        const all = reader.list(tables.databases, 'team', [teamId], { limit: listMax });
        return seenDatabases(reader, context.principal, teamId, all);
      },
    }),
    database: t.field({
      type: database,
      nullable: true,
      description: 'Null where the caller sees none.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => findDatabase(context, id),
    }),
  }));
  addCreate(builder, types, { engine, database });
  addControls(builder, database);
  addSecrets(builder);
  return database;
}

type EngineType = PothosSchemaTypes.EnumRef<
  Builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never,
  (typeof databaseEngines)[number]
>;
type DatabaseType = ReturnType<typeof addDatabase>;

function addDatabase(builder: Builder, { app, leaves }: DatabaseTypes, engine: EngineType) {
  const status = builder.enumType('DatabaseStatus', {
    values: ['provisioning', 'running', 'stopped', 'error'] as const,
  });
  return builder.objectRef<Readonly<DatabaseRecord>>('Database').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      engine: t.expose('engine', { type: engine }),
      version: t.exposeString('version'),
      status: t.expose('status', { type: status }),
      error: t.exposeString('error', {
        nullable: true,
        description: 'What keeps it from running.',
      }),
      connectionStringMasked: t.string({
        ...ofRecord((record: DatabaseRecord) => maskedUrl(record)),
        description: 'As programs of this machine reach it; without a port before it has one.',
      }),
      folderId: t.id({
        nullable: true,
        description:
          'Null at the top, and for a token that reaches the database but not its folder.',
        resolve: ({ folderId }, _args, context) =>
          folderId === null || seesFolder(context, folderId) ? folderId : null,
      }),
      serverId: t.exposeID('serverId'),
      resources: t.expose('resources', { type: leaves.resources }),
      usedBy: t.field({
        type: [app],
        description: 'Apps with a variable that refers to it, as far as the caller sees them.',
        resolve: (record, _args, { read, principal }) => {
          const apps = appsReferringTo(read.reader, record);
          return seenApps(read.reader, principal, record.teamId, apps);
        },
      }),
      createdAt: t.field({
        ...ofRecord((record: DatabaseRecord) => record.createdAtMs),
        type: 'DateTime',
      }),
      updatedAt: t.field({
        ...ofRecord((record: DatabaseRecord) => record.updatedAtMs),
        type: 'DateTime',
      }),
    }),
  });
}

/** A person who sees a database sees its folder; a token may be for the database alone. */
function seesFolder({ read, principal }: GraphContext, folderId: string): boolean {
  if (principal.kind !== 'token') return true;
  const folder = read.reader.get(tables.folders, folderId);
  return folder !== undefined && can(read.reader, principal, null, { kind: 'folder', folder });
}

function addCreate(
  builder: Builder,
  { inputs }: DatabaseTypes,
  { engine, database }: { engine: EngineType; database: DatabaseType },
): void {
  const createInput = builder.inputType('CreateDatabaseInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      engine: t.field({ type: engine, required: true }),
      version: t.string({ description: 'Such as 18 or 18.4; absent: the newest there is.' }),
      folderId: t.id(),
      serverId: t.id(),
      resources: t.field({ type: inputs.resources }),
      databaseName: t.string(),
      username: t.string(),
      password: t.string({ description: 'Absent: one is made up.' }),
    }),
  });
  builder.mutationFields((t) => ({
    createDatabase: t.field({
      type: database,
      description: 'create_databases. It is provisioning until it answers.',
      args: { input: t.arg({ type: createInput, required: true }) },
      resolve: (_root, { input }, context) => {
        const { folderId = null, serverId = null } = input;
        const teamId =
          folderId === null
            ? requireTeam(context, 'create_databases')
            : requireFolder(context, folderId, 'create_databases').teamId;
        requireServer(context, serverId);
        const made: NewDatabase = {
          teamId,
          name: input.name,
          engine: input.engine,
          version: input.version ?? null,
          folderId,
          serverId,
          resources: toResources(input.resources),
          databaseName: input.databaseName ?? null,
          username: input.username ?? null,
          password: input.password ?? null,
        };
        const message = {
          type: 'database-create',
          databaseId: newId('db'),
          database: made,
        } as const;
        const { actors } = writeSide(context);
        return actors.ask(teamActor.at(teamId), message, { deadlineMs: createMs });
      },
    }),
  }));
}

function toResources(input: object | null | undefined): Partial<Resources> {
  const named = Object.entries(input ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named);
}

function addControls(builder: Builder, database: DatabaseType): void {
  builder.mutationFields((t) => ({
    setDatabaseRunning: t.field({
      type: database,
      description: 'control_databases. Its data stays.',
      args: { id: t.arg.id({ required: true }), running: t.arg.boolean({ required: true }) },
      resolve: (_root, { id, running }, context) => {
        const record = requireDatabase(context, id, 'control_databases');
        const message = { type: 'set-running', running } as const;
        return writeSide(context).actors.ask(databaseActor.at(record.id), message);
      },
    }),
    deleteDatabase: t.boolean({
      description:
        'delete_databases. Stops it and moves it to trash for 7 days. CONFLICT, which names them, while apps refer to it, unless `force` is true.',
      args: { id: t.arg.id({ required: true }), force: t.arg.boolean({ defaultValue: false }) },
      resolve: (_root, { id, force }, context) => {
        const record = requireDatabase(context, id, 'delete_databases');
        if (force !== true) refuseWhileUsed(context, record);
        return writeSide(context).actors.ask(databaseActor.at(record.id), { type: 'delete' });
      },
    }),
  }));
}

/** CONFLICT while apps refer to it: those that the caller sees are named, others counted. */
function refuseWhileUsed(
  { read, principal }: GraphContext,
  database: Readonly<DatabaseRecord>,
): void {
  const { reader } = read;
  const apps = appsReferringTo(reader, database);
  if (apps.length === 0) return;
  const seen = seenApps(reader, principal, database.teamId, apps);
  const usedBy = seen.slice(0, namedMax).map(({ id, slug }) => ({ id, slug }));
  const others = apps.length - usedBy.length;
  const names = [
    ...usedBy.map(({ slug }) => slug),
    ...(others > 0 ? [`${String(others)} more`] : []),
  ].join(', ');
  throw new ServiceError(
    'CONFLICT',
    `Apps refer to this database in their variables: ${names}. They will not start without it. Change those variables first, or say force: true.`,
    { extensions: { usedBy, usedByOthers: others } },
  );
}

function addSecrets(builder: Builder): void {
  builder.mutationFields((t) => ({
    revealConnection: t.string({
      ...secret,
      description: 'reveal_secrets. The connection string with the password.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => {
        const record = requireDatabase(context, id, 'reveal_secrets');
        return writeSide(context).actors.ask(databaseActor.at(record.id), { type: 'reveal' });
      },
    }),
    rotateDatabasePassword: t.string({
      ...secret,
      description:
        'configure_databases. The new connection string. Apps that are told it by their variables, and run, are restarted.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => {
        const record = requireDatabase(context, id, 'configure_databases');
        return writeSide(context).actors.ask(databaseActor.at(record.id), { type: 'rotate' });
      },
    }),
  }));
}

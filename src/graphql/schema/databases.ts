/** Owns databases in the schema. Their passwords leave only by what is marked as secret. */
import { maskedUrl } from '../../actors/database/settings/address.ts';
import { databaseActor, type NewDatabase } from '../../actors/database/protocol.ts';
import { appsReferringTo } from '../../actors/database/settings/references.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { capabilitiesOn, seenNodes } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { databaseEngines, type DatabaseRecord } from '../../store/records/records.ts';
import type { Resources } from '../../protocol/workload.ts';
import { tables } from '../../store/records/tables.ts';
import {
  askActor,
  findDatabase,
  requirePlace,
  requireServer,
  requireTeam,
  seenFolderId,
} from '../access.ts';
import type { GraphContext } from '../context.ts';
import { ResourcesInput, toPatch } from './app-changes.ts';
import { ResourcesType } from './app-parts.ts';
import { AppType } from './apps.ts';
import { builder, CapabilityType, secret } from './builder.ts';
import { databaseById, needs } from './needs.ts';
import { ofRecord } from '../record-fields.ts';

/** As many as a team may have. */
const listMax = 1_000;
/** Behind the time that a server on the machine is looked for. */
const createMs = 120_000;
/** So many apps are named in a refusal; it has to fit a log line and a dialog. */
const namedMax = 20;

const EngineType = builder.enumType('DatabaseEngine', { values: databaseEngines });

const DatabaseStatusType = builder.enumType('DatabaseStatus', {
  values: ['provisioning', 'running', 'stopped', 'error'] as const,
});

export const DatabaseType = builder.objectRef<Readonly<DatabaseRecord>>('Database').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    engine: t.expose('engine', { type: EngineType }),
    version: t.exposeString('version'),
    status: t.expose('status', { type: DatabaseStatusType }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'What keeps it from running.',
    }),
    connectionStringMasked: t.string({
      ...ofRecord(maskedUrl),
      description: 'As programs of this machine reach it; without a port before it has one.',
    }),
    folderId: t.id({
      nullable: true,
      description: 'Null at the top, and for a token that reaches the database but not its folder.',
      resolve: ({ folderId }, _args, context) => seenFolderId(context, folderId),
    }),
    serverId: t.exposeID('serverId'),
    resources: t.expose('resources', { type: ResourcesType }),
    usedBy: t.field({
      type: [AppType],
      description: 'Apps with a variable that refers to it, as far as the caller sees them.',
      resolve: (record, _args, { read, principal }) => {
        const apps = appsReferringTo(read.reader, record);
        return seenNodes(read.reader, principal, record.teamId, apps);
      },
    }),
    capabilities: t.field({
      type: [CapabilityType],
      description: 'What the caller may do with it: by role, and by grants on its folders.',
      resolve: (database, _args, { read, principal }) =>
        capabilitiesOn(read.reader, principal, { kind: 'database', database }),
    }),
    createdAt: t.expose('createdAtMs', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAtMs', { type: 'DateTime' }),
  }),
});

const CreateDatabaseInput = builder.inputType('CreateDatabaseInput', {
  fields: (t) => ({
    name: t.string({ required: true }),
    engine: t.field({ type: EngineType, required: true }),
    version: t.string({ description: 'Such as 18 or 18.4; absent: the newest there is.' }),
    folderId: t.id(),
    serverId: t.id(),
    resources: t.field({ type: ResourcesInput }),
    databaseName: t.string(),
    username: t.string(),
    password: t.string({ description: 'Absent: one is made up.' }),
  }),
});

builder.queryFields((t) => ({
  databases: t.field({
    type: [DatabaseType],
    description: 'The databases of the acting team that the caller can see, the oldest first.',
    resolve: (_root, _args, context) => {
      const { reader } = context.read;
      const teamId = requireTeam(context, null);
      const all = reader.list(tables.databases, 'team', [teamId], { limit: listMax });
      return seenNodes(reader, context.principal, teamId, all);
    },
  }),
  database: t.field({
    type: DatabaseType,
    nullable: true,
    description: 'Null where the caller sees none.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => findDatabase(context, id),
  }),
}));

builder.mutationField('createDatabase', (t) =>
  t.field({
    type: DatabaseType,
    ...needs(
      'create_databases',
      {
        args: { input: t.arg({ type: CreateDatabaseInput, required: true }) },
        find: (context, need, { input }) => requirePlace(context, input.folderId, need),
      },
      {
        description: 'It is provisioning until it answers.',
        resolve: (teamId, { input }, context) => {
          const { folderId = null, serverId = null } = input;
          requireServer(context, serverId);
          const database: NewDatabase = {
            teamId,
            name: input.name,
            engine: input.engine,
            version: input.version ?? null,
            folderId,
            serverId,
            resources: toPatch<Resources>(input.resources),
            databaseName: input.databaseName ?? null,
            username: input.username ?? null,
            password: input.password ?? null,
          };
          const message = { type: 'database-create', databaseId: newId('db'), database } as const;
          return askActor(context, teamActor.at(teamId), message, { deadlineMs: createMs });
        },
      },
    ),
  }),
);

builder.mutationFields((t) => ({
  setDatabaseRunning: t.field({
    type: DatabaseType,
    ...needs('control_databases', databaseById, {
      description: 'Its data stays.',
      args: { running: t.arg.boolean({ required: true }) },
      resolve: ({ id }, { running }, context) =>
        askActor(context, databaseActor.at(id), { type: 'set-running', running }),
    }),
  }),
  deleteDatabase: t.boolean(
    needs('delete_databases', databaseById, {
      description:
        'Stops it and moves it to trash for 7 days. CONFLICT, which names them, while apps refer to it, unless `force` is true.',
      args: { force: t.arg.boolean({ defaultValue: false }) },
      resolve: (database, { force }, context) => {
        if (force !== true) refuseWhileUsed(context, database);
        return askActor(context, databaseActor.at(database.id), { type: 'delete' });
      },
    }),
  ),
  revealConnection: t.string({
    ...secret,
    ...needs('reveal_secrets', databaseById, {
      description: 'The connection string with the password.',
      resolve: ({ id }, _args, context) =>
        askActor(context, databaseActor.at(id), { type: 'reveal' }),
    }),
  }),
  rotateDatabasePassword: t.string({
    ...secret,
    ...needs('configure_databases', databaseById, {
      description:
        'The new connection string. Apps that are told it by their variables, and run, are restarted.',
      resolve: ({ id }, _args, context) =>
        askActor(context, databaseActor.at(id), { type: 'rotate' }),
    }),
  }),
}));

/** CONFLICT while apps refer to it: those that the caller sees are named, others counted. */
function refuseWhileUsed(
  { read, principal }: GraphContext,
  database: Readonly<DatabaseRecord>,
): void {
  const { reader } = read;
  const apps = appsReferringTo(reader, database);
  if (apps.length === 0) return;
  const seen = seenNodes(reader, principal, database.teamId, apps);
  const usedBy = seen.slice(0, namedMax).map(({ id, slug }) => ({ id, slug }));
  const others = apps.length - usedBy.length;
  const names = usedBy.map(({ slug }) => slug);
  if (others > 0) names.push(`${String(others)} more`);
  throw new ServiceError(
    'CONFLICT',
    `Apps refer to this database in their variables: ${names.join(', ')}. They will not start without it. Change those variables first, or say force: true.`,
    { extensions: { usedBy, usedByOthers: others } },
  );
}

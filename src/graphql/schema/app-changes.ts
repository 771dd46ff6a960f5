/** Owns what changes an app in the schema: making, configuring, deleting, running, its deploy hook. */
import {
  appActor,
  type AppEdgePatch,
  type AppPatch,
  type NewApp,
} from '../../actors/app/protocol.ts';
import { edgeActor } from '../../actors/edge/edge-actor.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { assertMayMove } from '../../auth/rights/moves.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { AppRecord, BuildConfig, GitSource } from '../../store/records/records.ts';
import type { Resources } from '../../protocol/workload.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requirePlace, requireServer } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { SourceType } from './app-parts.ts';
import { AppType } from './apps.ts';
import { builder, secret } from './builder.ts';
import { EnvEntryInput, requireReferences, toEntry } from './env.ts';
import { publicUrlOf } from './instance.ts';
import { appById, needs } from './needs.ts';

const BuildConfigInput = builder.inputType('BuildConfigInput', {
  fields: (t) => ({
    buildCommand: t.string(),
    startCommand: t.string(),
    dockerfile: t.string(),
    outputDir: t.string(),
    nodeVersion: t.string(),
    port: t.int(),
    healthPath: t.string(),
  }),
});

const GitSourceInput = builder.inputType('GitSourceInput', {
  fields: (t) => ({
    connectionId: t.id(),
    repository: t.string({ required: true }),
    branch: t.string({ required: true }),
    path: t.string(),
    watchPaths: t.stringList(),
    submodules: t.boolean(),
  }),
});

export const ResourcesInput = builder.inputType('ResourcesInput', {
  fields: (t) => ({
    memoryMb: t.int(),
    cpus: t.float(),
    pids: t.int(),
    replicas: t.int(),
  }),
});

const EdgeSettingsInput = builder.inputType('EdgeSettingsInput', {
  description: 'What is absent stays; null sets back.',
  fields: (t) => ({
    maintenance: t.boolean(),
    maintenanceText: t.string(),
    idleSeconds: t.int(),
    totalSeconds: t.int(),
    maxBodyMb: t.int(),
    maxConnections: t.int(),
    hsts: t.int(),
    accessLog: t.boolean(),
  }),
});

const CreateAppInput = builder.inputType('CreateAppInput', {
  fields: (t) => ({
    name: t.string({ required: true }),
    source: t.field({ type: SourceType, required: true }),
    folderId: t.id(),
    serverId: t.id(),
    git: t.field({ type: GitSourceInput }),
    image: t.string(),
    compose: t.string(),
    build: t.field({ type: BuildConfigInput }),
    resources: t.field({ type: ResourcesInput }),
    env: t.field({ type: [EnvEntryInput] }),
  }),
});

builder.mutationField('createApp', (t) =>
  t.field({
    type: AppType,
    ...needs(
      'create_apps',
      {
        args: { input: t.arg({ type: CreateAppInput, required: true }) },
        find: (context, need, { input }) => requirePlace(context, input.folderId, need),
      },
      {
        resolve: (teamId, { input }, context) => {
          const { folderId = null, serverId = null } = input;
          requireServer(context, serverId);
          requireReferences(context, teamId, input.env ?? []);
          const app: NewApp = {
            teamId,
            name: input.name,
            source: input.source,
            folderId,
            serverId,
            git: input.git ? toGit(input.git) : null,
            image: input.image ?? null,
            compose: input.compose ?? null,
            build: toPatch<BuildConfig>(input.build),
            resources: toPatch<Resources>(input.resources),
            env: (input.env ?? []).map((entry) => toEntry(entry)),
          };
          const appId = newId('app');
          return askActor(context, teamActor.at(teamId), { type: 'app-create', appId, app });
        },
      },
    ),
  }),
);

const heardMs = 5000;

builder.mutationFields((t) => ({
  updateApp: t.field({
    type: AppType,
    ...needs('configure_apps', appById, {
      description: 'What is absent stays; folderId null takes it out of its folder.',
      args: {
        name: t.arg.string(),
        folderId: t.arg.id(),
        autoDeploy: t.arg.boolean(),
        build: t.arg({ type: BuildConfigInput }),
        git: t.arg({ type: GitSourceInput }),
        image: t.arg.string(),
        compose: t.arg.string(),
        resources: t.arg({ type: ResourcesInput }),
        previewBranches: t.arg.stringList(),
        edge: t.arg({ type: EdgeSettingsInput }),
      },
      resolve: async (app, { id, folderId, git, build, resources, edge, ...plain }, context) => {
        const patch: AppPatch = toPatch<Omit<AppPatch, 'folderId'>>(dropNulls(plain));
        if (folderId !== undefined) patch.folderId = targetFolder(context, app, folderId);
        if (git) patch.git = toGit(git);
        if (build) patch.build = toPatch<BuildConfig>(build);
        if (resources) patch.resources = toPatch<Resources>(resources);
        if (edge) patch.edge = toPatch<AppEdgePatch>(edge);
        const changed =
          patch.folderId === undefined
            ? askActor(context, appActor.at(id), { type: 'update', patch })
            : askActor(context, teamActor.at(app.teamId), { type: 'app-move', appId: id, patch });
        return patch.edge === undefined ? changed : heardByEdge(context, await changed);
      },
    }),
  }),
  deleteApp: t.boolean(
    needs('delete_apps', appById, {
      description: 'Stops it and moves it to trash for 7 days.',
      resolve: ({ id }, _args, context) => askActor(context, appActor.at(id), { type: 'delete' }),
    }),
  ),
}));

/** An edge that does not take it now has it as soon as it does: nobody waits for that. */
async function heardByEdge(context: GraphContext, app: AppRecord): Promise<AppRecord> {
  try {
    const options = { deadlineMs: heardMs };
    await askActor(context, edgeActor.at(app.serverId), { type: 'heard' }, options);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
  return app;
}

for (const type of ['start', 'stop', 'restart'] as const) {
  builder.mutationField(`${type}App`, (t) =>
    t.field({
      type: AppType,
      ...needs('control_apps', appById, {
        resolve: ({ id }, _args, context) => askActor(context, appActor.at(id), { type }),
      }),
    }),
  );
}

// The hook itself is a transport of its own.
builder.mutationFields((t) => ({
  revealAppDeployHook: t.string({
    ...secret,
    ...needs('configure_apps', appById, {
      description: 'The full URL.',
      resolve: ({ id }, _args, context) => hookUrl(context, id, 'hook-reveal'),
    }),
  }),
  rotateAppDeployHook: t.string({
    ...secret,
    ...needs('configure_apps', appById, {
      description: 'Makes a new URL; the old one is dead at once.',
      resolve: ({ id }, _args, context) => hookUrl(context, id, 'hook-rotate'),
    }),
  }),
  setAppDeployHookEnabled: t.field({
    type: AppType,
    ...needs('configure_apps', appById, {
      args: { enabled: t.arg.boolean({ required: true }) },
      resolve: ({ id }, { enabled }, context) =>
        askActor(context, appActor.at(id), { type: 'hook-enable', enabled }),
    }),
  }),
}));

async function hookUrl(
  context: GraphContext,
  id: string,
  type: 'hook-reveal' | 'hook-rotate',
): Promise<string> {
  const { token } = await askActor(context, appActor.at(id), { type });
  return `${publicUrlOf(context.read)}/api/apps/${id}/deploy-hook/${token}`;
}

/** What was named of an input, null included: null sets back to nothing. */
export function toPatch<T>(input: object | null | undefined): Partial<T> {
  return Object.fromEntries(
    Object.entries(input ?? {}).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}

function dropNulls(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value != null));
}

interface GitArgs {
  connectionId?: string | null | undefined;
  repository: string;
  branch: string;
  path?: string | null | undefined;
  watchPaths?: string[] | null | undefined;
  submodules?: boolean | null | undefined;
}

function toGit({ connectionId, path, watchPaths, submodules, ...git }: GitArgs): GitSource {
  const optional = {
    ...(watchPaths && { watchPaths }),
    ...(submodules === true && { submodules }),
  };
  return { ...git, connectionId: connectionId ?? null, path: path ?? null, ...optional };
}

/** Where an app goes, once the caller is known to be allowed to move it there. */
function targetFolder(
  { read, principal }: GraphContext,
  app: Readonly<AppRecord>,
  folderId: string | null,
): string | null {
  if (folderId === app.folderId) return folderId;
  const folder = folderId === null ? null : read.reader.get(tables.folders, folderId);
  if (folder === undefined) throw new ServiceError('NOT_FOUND', 'No such folder.');
  assertMayMove(read.reader, principal, app, folder);
  return folderId;
}

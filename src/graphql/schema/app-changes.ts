/** Owns what changes an app in the schema: making, configuring, deleting, starting and stopping. */
import { appActor, type AppPatch, type NewApp } from '../../actors/app/protocol.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { assertMayMove } from '../../auth/rights/moves.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { AppRecord, BuildConfig, GitSource } from '../../store/records/records.ts';
import type { Resources } from '../../protocol/workload.ts';
import { tables } from '../../store/records/tables.ts';
import { requireApp, requireFolder, requireServer, requireTeam, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import type { addAppParts } from './app-parts.ts';
import type { addApps } from './apps.ts';
import type { Builder } from './builder.ts';
import { type addEnv, requireReferences, toEntry } from './env.ts';

interface ChangeTypes {
  app: ReturnType<typeof addApps>['app'];
  source: ReturnType<typeof addAppParts>['source'];
  entryInput: ReturnType<typeof addEnv>['entryInput'];
}

export function addAppChanges(builder: Builder, types: ChangeTypes) {
  const inputs = addInputs(builder);
  addCreate(builder, types, inputs);
  addUpdate(builder, types, inputs);
  addControls(builder, types.app);
  return inputs;
}

type Inputs = ReturnType<typeof addInputs>;

function addCreate(
  builder: Builder,
  { app, source, entryInput }: ChangeTypes,
  inputs: Inputs,
): void {
  const createInput = builder.inputType('CreateAppInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      source: t.field({ type: source, required: true }),
      folderId: t.id(),
      serverId: t.id(),
      git: t.field({ type: inputs.git }),
      image: t.string(),
      compose: t.string(),
      build: t.field({ type: inputs.build }),
      resources: t.field({ type: inputs.resources }),
      env: t.field({ type: [entryInput] }),
    }),
  });
  builder.mutationFields((t) => ({
    createApp: t.field({
      type: app,
      description: 'create_apps.',
      args: { input: t.arg({ type: createInput, required: true }) },
      resolve: (_root, { input }, context) => {
        const { folderId = null, serverId = null } = input;
        const teamId =
          folderId === null
            ? requireTeam(context, 'create_apps')
            : requireFolder(context, folderId, 'create_apps').teamId;
        requireServer(context, serverId);
        requireReferences(context, teamId, input.env ?? []);
        const made: NewApp = {
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
        const message = { type: 'app-create', appId: newId('app'), app: made } as const;
        return writeSide(context).actors.ask(teamActor.at(teamId), message);
      },
    }),
  }));
}

function addUpdate(builder: Builder, { app }: ChangeTypes, inputs: Inputs): void {
  builder.mutationFields((t) => ({
    updateApp: t.field({
      type: app,
      description:
        'configure_apps. What is absent stays; folderId null takes it out of its folder.',
      args: {
        id: t.arg.id({ required: true }),
        name: t.arg.string(),
        folderId: t.arg.id(),
        autoDeploy: t.arg.boolean(),
        build: t.arg({ type: inputs.build }),
        git: t.arg({ type: inputs.git }),
        image: t.arg.string(),
        compose: t.arg.string(),
        resources: t.arg({ type: inputs.resources }),
        previewBranches: t.arg.stringList(),
      },
      resolve: (_root, { id, folderId, git, build, resources, ...plain }, context) => {
        const record = requireApp(context, id, 'configure_apps');
        const patch: AppPatch = toPatch<Omit<AppPatch, 'folderId'>>(dropNulls(plain));
        if (folderId !== undefined) patch.folderId = targetFolder(context, record, folderId);
        if (git) patch.git = toGit(git);
        if (build) patch.build = toPatch<BuildConfig>(build);
        if (resources) patch.resources = toPatch<Resources>(resources);
        const { actors } = writeSide(context);
        if (patch.folderId === undefined) {
          return actors.ask(appActor.at(record.id), { type: 'update', patch });
        }
        const message = { type: 'app-move', appId: record.id, patch } as const;
        return actors.ask(teamActor.at(record.teamId), message);
      },
    }),
    deleteApp: t.boolean({
      description: 'delete_apps. Stops it and moves it to trash for 7 days.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => {
        const record = requireApp(context, id, 'delete_apps');
        return writeSide(context).actors.ask(appActor.at(record.id), { type: 'delete' });
      },
    }),
  }));
}

function addControls(builder: Builder, app: ChangeTypes['app']): void {
  for (const type of ['start', 'stop', 'restart'] as const) {
    builder.mutationField(`${type}App`, (t) =>
      t.field({
        type: app,
        description: 'control_apps.',
        args: { id: t.arg.id({ required: true }) },
        resolve: (_root, { id }, context) => {
          const record = requireApp(context, id, 'control_apps');
          return writeSide(context).actors.ask(appActor.at(record.id), { type });
        },
      }),
    );
  }
}

function addInputs(builder: Builder) {
  const build = builder.inputType('BuildConfigInput', {
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
  const git = builder.inputType('GitSourceInput', {
    fields: (t) => ({
      connectionId: t.id(),
      repository: t.string({ required: true }),
      branch: t.string({ required: true }),
      path: t.string(),
    }),
  });
  const resources = builder.inputType('ResourcesInput', {
    fields: (t) => ({
      memoryMb: t.int(),
      cpus: t.float(),
      pids: t.int(),
      replicas: t.int(),
    }),
  });
  return { build, git, resources };
}

/** What was named of an input, null included: null sets back to nothing. */
function toPatch<T>(input: object | null | undefined): Partial<T> {
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
}

function toGit({ connectionId, repository, branch, path }: GitArgs): GitSource {
  return { connectionId: connectionId ?? null, repository, branch, path: path ?? null };
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

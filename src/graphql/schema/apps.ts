/** Owns apps in the schema. */
import { capabilitiesOn, seenNodes, seesWhole } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import { edgeSettingsOf } from '../../protocol/app-edge-settings.ts';
import type { AppRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { findApp, findAppBySlug, requireTeam, seenFolderId } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { boundedCount, decodeCursor, type Page, pageMax, pageOf } from '../page.ts';
import { TeamType } from './accounts.ts';
import {
  AppStatusType,
  BuildConfigType,
  ContainerType,
  type ContainerView,
  EdgeSettingsType,
  ExitType,
  GitSourceType,
  ResourcesType,
  SourceType,
  UploadType,
} from './app-parts.ts';
import { builder, CapabilityType, connectionType } from './builder.ts';
import { ofRecord } from '../record-fields.ts';
import { DeploymentConnectionType, DeploymentType } from './deployments.ts';
import { urlsOf } from '../../actors/edge/app-urls.ts';
import { defaultContainer } from '../../actors/app/running/containers.ts';

export const AppType = builder.objectRef<Readonly<AppRecord>>('App').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    slug: t.exposeString('slug'),
    name: t.exposeString('name'),
    source: t.expose('source', { type: SourceType }),
    status: t.expose('status', { type: AppStatusType }),
    url: t.string({
      ...ofRecord((record: AppRecord, settings) => urlsOf(record, settings)[0]),
      nullable: true,
    }),
    urls: t.stringList({
      ...ofRecord((record: AppRecord, settings): string[] => urlsOf(record, settings)),
      description: 'Every address of it, the primary first.',
    }),
    folderId: t.id({
      nullable: true,
      description: 'Null at the top, and for a token that reaches the app but not its folder.',
      resolve: ({ folderId }, _args, context) => seenFolderId(context, folderId),
    }),
    serverId: t.exposeID('serverId'),
    team: t.field({
      type: TeamType,
      resolve: ({ teamId }, _args, { read }) => {
        const team = read.reader.get(tables.teams, teamId);
        if (!team) throw new Error('An app has a team that does not exist.');
        return team;
      },
    }),
    upload: t.expose('upload', { type: UploadType, nullable: true }),
    git: t.expose('git', { type: GitSourceType, nullable: true }),
    image: t.exposeString('image', { nullable: true }),
    compose: t.exposeString('compose', { nullable: true }),
    build: t.expose('build', { type: BuildConfigType }),
    resources: t.expose('resources', { type: ResourcesType }),
    edge: t.field({ type: EdgeSettingsType, resolve: ({ edge }) => edgeSettingsOf(edge) }),
    previewBranches: t.exposeStringList('previewBranches'),
    deployHookEnabled: t.exposeBoolean('deployHookEnabled'),
    autoDeploy: t.exposeBoolean('autoDeploy'),
    capabilities: t.field({
      type: [CapabilityType],
      description: 'What the caller may do with it: by role, and by grants on its folders.',
      resolve: (app, _args, { read, principal }) =>
        capabilitiesOn(read.reader, principal, { kind: 'app', app }),
    }),
    previewOf: t.id({
      nullable: true,
      description: 'Of a preview: the app that it is one of.',
      resolve: ({ previewOf }) => previewOf?.appId ?? null,
    }),
    createdAt: t.expose('createdAtMs', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAtMs', { type: 'DateTime' }),
  }),
});

/** What was deployed of it. */
builder.objectFields(AppType, (t) => ({
  latestDeployment: t.field({
    type: DeploymentType,
    nullable: true,
    resolve: ({ latestDeploymentId: id }, _args, { read }) =>
      id === null ? null : read.reader.get(tables.deployments, id),
  }),
  deployments: t.field({
    type: DeploymentConnectionType,
    description: 'The newest first.',
    args: { first: t.arg.int({ defaultValue: 20 }), after: t.arg.string() },
    resolve: (record, { first, after }, { read }) => {
      const count = boundedCount('first', first, 20, pageMax);
      const rows = read.reader.list(tables.deployments, 'app', [record.id], {
        limit: count + 1,
        reverse: true,
        ...(after != null && { after: [record.id, decodeCursor('dpl', after)] }),
      });
      return pageOf('dpl', rows, count, (row) => row.id);
    },
  }),
}));

/** What runs of it, and how that ended. */
builder.objectFields(AppType, (t) => ({
  containers: t.field({
    ...ofRecord(containersOf),
    type: [ContainerType],
    description: 'What runs of it now.',
  }),
  lastExit: t.field({
    type: ExitType,
    nullable: true,
    description: 'The last end of a running instance that nobody asked for.',
    resolve: (app) => {
      const exit = app.run.crashes?.last;
      return exit ? { app, exit } : null;
    },
  }),
  restarts: t.int({
    ...ofRecord(({ run }: AppRecord) => run.crashes?.restarts ?? 0),
    description: 'Of the live release since it became live, by itself.',
  }),
}));

interface AppPage extends Page<Readonly<AppRecord>> {
  /** Of all pages; counted when it is asked for. */
  count: () => number;
}

const AppConnectionType = connectionType<Readonly<AppRecord>, AppPage>('AppConnection', AppType);
builder.objectField(AppConnectionType, 'totalCount', (t) =>
  t.int({ resolve: ({ count }) => count() }),
);

builder.queryFields((t) => ({
  apps: t.field({
    type: AppConnectionType,
    description: 'The apps of the acting team that the caller can see, the oldest first.',
    args: {
      first: t.arg.int({ defaultValue: 100 }),
      after: t.arg.string(),
      folderId: t.arg.id(),
      search: t.arg.string({ description: 'Part of the name or the slug, whatever the case.' }),
    },
    resolve: (_root, args, context) => listApps(context, args),
  }),
  app: t.field({
    type: AppType,
    nullable: true,
    description: 'By id or by slug; null where the caller sees none.',
    args: { id: t.arg.id(), slug: t.arg.string() },
    resolve: (_root, { id, slug }, context) => {
      if (id != null && slug == null) return findApp(context, id);
      if (slug != null && id == null) return findAppBySlug(context, slug);
      throw new ServiceError('BAD_USER_INPUT', 'Name either id or slug.');
    },
  }),
}));

interface ListArgs {
  first?: number | null | undefined;
  after?: string | null | undefined;
  folderId?: string | null | undefined;
  search?: string | null | undefined;
}

/** Reads no more of the team than the page needs; all of it only to count what is filtered. */
function listApps(context: GraphContext, args: ListArgs): AppPage {
  const { reader } = context.read;
  const { principal } = context;
  const teamId = requireTeam(context, null);
  const first = boundedCount('first', args.first, 100, pageMax);
  const afterId = args.after == null ? '' : decodeCursor('app', args.after);
  const wanted = args.search?.toLowerCase() ?? '';
  const [index, prefix] =
    args.folderId == null
      ? (['team', [teamId]] as const)
      : (['folder', [teamId, args.folderId]] as const);
  /** Takes those that match behind an app, as many at a time as there are in a chunk. */
  const eachMatching = (
    afterId: string,
    chunk: number,
    isEnough: (some: Readonly<AppRecord>[]) => boolean,
  ): void => {
    for (let at = afterId, size = chunk; ; size = chunkApps) {
      const after = at === '' ? {} : { after: [...prefix, at] };
      const apps = reader.list(tables.apps, index, prefix, { limit: size, ...after });
      const seen = seenNodes(reader, principal, teamId, apps);
      if (isEnough(wanted === '' ? seen : seen.filter((app) => isNamed(app, wanted)))) return;
      const last = apps.at(-1);
      if (last === undefined || apps.length < size) return;
      at = last.id;
    }
  };
  let rows: Readonly<AppRecord>[] = [];
  eachMatching(afterId, first + 1, (apps) => {
    rows = rows.length === 0 ? apps : [...rows, ...apps];
    return rows.length > first;
  });
  const count = (): number => {
    if (wanted === '' && seesWhole(reader, principal, teamId)) {
      return reader.count(tables.apps, index, prefix);
    }
    // A page that is the first and the last holds all.
    if (afterId === '' && rows.length <= first) return rows.length;
    let sum = 0;
    eachMatching('', chunkApps, (apps) => {
      sum += apps.length;
      return false;
    });
    return sum;
  };
  return { ...pageOf('app', rows, first, (app) => app.id), count };
}

const chunkApps = 1_000;

function isNamed({ name, slug }: Readonly<AppRecord>, wanted: string): boolean {
  return name.toLowerCase().includes(wanted) || slug.includes(wanted);
}

/** The one that takes the traffic; without one, the one on its way in or the last on its way out. */
function containersOf({ run }: Readonly<AppRecord>): ContainerView[] {
  const { live, next, draining, crashing } = run;
  const shown = live ?? next ?? draining.at(-1);
  if (shown === undefined) return [];
  const ofLive = crashing ? 'restarting' : 'running';
  const state = shown === live ? ofLive : shown === next ? 'starting' : 'stopping';
  const { image = null, startedAtMs } = shown;
  const main = { name: shown.service ?? defaultContainer, image };
  const others = (shown.parts ?? []).map((part) => ({ name: part.service, image: part.image }));
  return [main, ...others].map((one) => ({ ...one, state, startedAtMs }));
}

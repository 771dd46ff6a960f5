/** Owns apps in the schema. */
import { can, seenApps, seesWhole } from '../../auth/rights/authorize.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, TeamRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { findApp, findAppBySlug, requireTeam } from '../access.ts';
import type { GraphContext, GraphqlSettings } from '../context.ts';
import { boundedCount, decodeCursor, type Page, pageMax, pageOf } from '../page.ts';
import type { addAccounts } from './accounts.ts';
import type { addAppParts, ContainerView } from './app-parts.ts';
import type { Builder, Shared } from './builder.ts';
import { ofRecord } from '../record-fields.ts';
import type { addDeployments } from './deployments.ts';
import { defaultContainer } from '../../actors/app/running/containers.ts';

/** One shape for all of them: an object with a getter of its own would be a class of its own. */
class AppPage implements Page<Readonly<AppRecord>> {
  readonly nodes: readonly Readonly<AppRecord>[];
  readonly pageInfo: Page<unknown>['pageInfo'];
  readonly #count: () => number;

  constructor({ nodes, pageInfo }: Page<Readonly<AppRecord>>, count: () => number) {
    this.nodes = nodes;
    this.pageInfo = pageInfo;
    this.#count = count;
  }

  /** Counted when it is asked for. */
  get totalCount(): number {
    return this.#count();
  }
}

export interface AppParts {
  shared: Shared;
  accounts: ReturnType<typeof addAccounts>;
  deployments: ReturnType<typeof addDeployments>;
  leaves: ReturnType<typeof addAppParts>;
}

export function addApps(builder: Builder, parts: AppParts) {
  const app = addApp(builder, parts);
  addRun(builder, app, parts.leaves);
  const connection = builder.objectRef<AppPage>('AppConnection').implement({
    fields: (t) => ({
      nodes: t.field({ type: [app], resolve: (page) => page.nodes }),
      pageInfo: t.expose('pageInfo', { type: parts.shared.pageInfo }),
      totalCount: t.exposeInt('totalCount'),
    }),
  });
  addQueries(builder, { app, connection });
  return { app };
}

function addApp(builder: Builder, parts: AppParts) {
  const leaves = parts.leaves;
  const { deployment, connection: deploymentConnection } = parts.deployments;
  return builder.objectRef<Readonly<AppRecord>>('App').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      slug: t.exposeString('slug'),
      name: t.exposeString('name'),
      source: t.expose('source', { type: leaves.source }),
      status: t.expose('status', { type: leaves.status }),
      url: t.string({
        ...ofRecord((record: AppRecord, settings) => appUrl(settings, record.slug)),
        nullable: true,
      }),
      folderId: t.id({
        nullable: true,
        description: 'Null at the top, and for a token that reaches the app but not its folder.',
        resolve: ({ folderId }, _args, { read, principal }) =>
          folderId === null || sees(read.reader, principal, folderId) ? folderId : null,
      }),
      serverId: t.exposeID('serverId'),
      team: t.field({
        type: parts.accounts.team,
        resolve: (record, _args, { read }) => teamOf(read.reader, record),
      }),
      upload: t.expose('upload', { type: leaves.upload, nullable: true }),
      git: t.expose('git', { type: leaves.git, nullable: true }),
      image: t.exposeString('image', { nullable: true }),
      compose: t.exposeString('compose', { nullable: true }),
      build: t.expose('build', { type: leaves.build }),
      resources: t.expose('resources', { type: leaves.resources }),
      previewBranches: t.exposeStringList('previewBranches'),
      deployHookEnabled: t.exposeBoolean('deployHookEnabled'),
      autoDeploy: t.exposeBoolean('autoDeploy'),
      latestDeployment: t.field({
        type: deployment,
        nullable: true,
        resolve: (record, _args, { read }) =>
          record.latestDeploymentId === null
            ? null
            : read.reader.get(tables.deployments, record.latestDeploymentId),
      }),
      deployments: t.field({
        type: deploymentConnection,
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
      createdAt: t.field({
        ...ofRecord((record: AppRecord) => record.createdAtMs),
        type: 'DateTime',
      }),
      updatedAt: t.field({
        ...ofRecord((record: AppRecord) => record.updatedAtMs),
        type: 'DateTime',
      }),
    }),
  });
}

/** What runs of it, and how that ended. */
function addRun(
  builder: Builder,
  app: ReturnType<typeof addApp>,
  leaves: AppParts['leaves'],
): void {
  builder.objectFields(app, (t) => ({
    containers: t.field({
      ...ofRecord((record: AppRecord) => containersOf(record)),
      type: [leaves.container],
      description: 'What runs of it now.',
    }),
    lastExit: t.field({
      type: leaves.exit,
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
}

function teamOf(reader: Reader, { teamId }: Readonly<AppRecord>): Readonly<TeamRecord> {
  const team = reader.get(tables.teams, teamId);
  if (!team) throw new Error('An app has a team that does not exist.');
  return team;
}

/** A person who sees an app sees its folder; a token may be for the app alone. */
function sees(reader: Reader, principal: Principal, folderId: string): boolean {
  if (principal.kind !== 'token') return true;
  const folder = reader.get(tables.folders, folderId);
  return folder !== undefined && can(reader, principal, null, { kind: 'folder', folder });
}

type AppTypes = {
  app: ReturnType<typeof addApp>;
  connection: PothosSchemaTypes.ObjectRef<BuilderSchema, AppPage>;
};
type BuilderSchema = Builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never;

function addQueries(builder: Builder, { app, connection }: AppTypes): void {
  builder.queryFields((t) => ({
    apps: t.field({
      type: connection,
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
      type: app,
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
}

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
      const seen = seenApps(reader, principal, teamId, apps);
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
  return new AppPage(
    pageOf('app', rows, first, (app) => app.id),
    count,
  );
}

const chunkApps = 1_000;

function isNamed({ name, slug }: Readonly<AppRecord>, wanted: string): boolean {
  return name.toLowerCase().includes(wanted) || slug.includes(wanted);
}

/** Where the edge serves an app; whether anything answers there says its status. */
export function appUrl({ appsDomain, edgePort }: GraphqlSettings, slug: string): string {
  return `http://${slug}.${appsDomain}:${edgePort}`;
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

/** Owns servers in the schema: the one of this machine, those of a driver, and those that somebody adds. */
import { type AddedServer, serversActor } from '../../actors/server/protocol.ts';
import { can } from '../../auth/rights/authorize.ts';
import { type LayerState, lostWithout } from '../../protocol/isolation.ts';
import type { ServerRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requireAdmin, requireTeam } from '../access.ts';
import type { GraphContext, ReadSide } from '../context.ts';
import { builder, secret } from './builder.ts';
import { publicUrlOf } from './instance.ts';

type ServerView = Omit<ServerRecord, 'runtime' | 'isolation' | 'agent'> & {
  runtime: string;
  isolation?: readonly LayerState[] | undefined;
  agent?: ServerRecord['agent'] | undefined;
};
type LayerView = Readonly<LayerState>;

const IsolationLayerType = builder.objectRef<LayerView>('IsolationLayer').implement({
  description: 'One of what keeps apps and databases on a server apart.',
  fields: (t) => ({
    layer: t.exposeString('layer'),
    holds: t.boolean({ resolve: ({ missing }) => missing === null }),
    missing: t.exposeString('missing', {
      nullable: true,
      description: 'Why it is left out; null: it holds.',
    }),
    consequence: t.string({
      nullable: true,
      description: 'What is not kept apart without it; null: it holds.',
      resolve: ({ layer, missing }) => (missing === null ? null : lostWithout[layer]),
    }),
  }),
});

const ServerType = builder.objectRef<ServerView>('Server').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    runtime: t.exposeString('runtime'),
    connected: t.exposeBoolean('connected'),
    draining: t.exposeBoolean('draining'),
    version: t.exposeString('version', { nullable: true }),
    lastSeenAt: t.expose('lastSeenAtMs', { type: 'DateTime', nullable: true }),
    takeover: t.string({
      nullable: true,
      description:
        'Of a server that is taken over from another platform: waiting, done, removing, removed or failed.',
      resolve: ({ agent }) => agent?.takeover?.state ?? null,
    }),
    takeoverReason: t.string({
      nullable: true,
      description:
        'What the installer of the takeover said of it; null for who does not administer the instance.',
      resolve: ({ agent }, _args, context) =>
        administers(context) ? (agent?.takeover?.reason ?? null) : null,
    }),
    added: t.boolean({
      description:
        'Whether somebody added it: it has an agent, and can be drained and removed here.',
      resolve: ({ agent }) => agent !== undefined,
    }),
    bootstrapExpiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Until when its agent may come with the command that was shown; null: not with any.',
      resolve: ({ agent }) =>
        agent?.bootstrap?.usedAtMs === null ? agent.bootstrap.expiresAtMs : null,
    }),
    problem: t.string({
      nullable: true,
      description:
        'Why its agent is not let in, or it cannot be removed, where that is known; null for who does not administer the instance.',
      // It names apps and databases of all teams.
      resolve: ({ agent }, _args, context) =>
        administers(context) ? (agent?.problem ?? null) : null,
    }),
    isolation: t.expose('isolation', {
      type: [IsolationLayerType],
      nullable: true,
      description:
        'Of the process runtime, once something ran there since the start; null where containers do it.',
    }),
  }),
});

const AddServerPayloadType = builder
  .objectRef<AddedServer & { installCommand: string }>('AddServerPayload')
  .implement({
    fields: (t) => ({
      server: t.field({ type: ServerType, resolve: ({ server }) => server }),
      bootstrapToken: t.exposeString('bootstrapToken', {
        description: 'Shown this once. It is good for one certificate, for 24 hours.',
        ...secret,
      }),
      installCommand: t.exposeString('installCommand', {
        description: 'One line for a shell on the other server, as root. It holds the token.',
        ...secret,
      }),
    }),
  });

builder.queryFields((t) => ({
  servers: t.field({
    type: [ServerType],
    resolve: (_root, _args, context) => {
      requireTeam(context, null);
      return serversOf(context.read);
    },
  }),
}));

builder.mutationFields((t) => ({
  addServer: t.field({
    type: AddServerPayloadType,
    description: 'For the instance administrator.',
    args: {
      name: t.arg.string({ required: true }),
      takeover: t.arg.boolean({ defaultValue: false }),
    },
    resolve: async (_root, { name, takeover }, context) => {
      requireAdmin(context);
      const message = { type: 'add', name, takeover: takeover === true } as const;
      return shown(context, await askActor(context, serversActor.at('all'), message));
    },
  }),
  drainServer: t.field({
    type: ServerType,
    description: 'For the instance administrator. Nothing new is put on a server that drains.',
    args: { id: t.arg.id({ required: true }), drain: t.arg.boolean({ required: true }) },
    resolve: (_root, { id, drain }, context) => {
      requireAdmin(context);
      const message = { type: 'drain', serverId: id, drain } as const;
      return askActor(context, serversActor.at('all'), message);
    },
  }),
  reissueServerBootstrap: t.field({
    type: AddServerPayloadType,
    description:
      'For the instance administrator. The token and the certificates that the server had are revoked at once.',
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, context) => {
      requireAdmin(context);
      const message = { type: 'reissue', serverId: id } as const;
      return shown(context, await askActor(context, serversActor.at('all'), message));
    },
  }),
  removeServer: t.boolean({
    description:
      'For the instance administrator. Its certificates are revoked at once. CONFLICT while apps or databases are there, ' +
      'or are being moved from or to it, unless forced: they are moved to this machine then, false is answered, and the server is ' +
      'removed after that; it stays, with its `problem`, when one of them cannot be moved. What a server has that is not connected ' +
      'is left behind, but a move is not: CONFLICT until it is over.',
    args: {
      id: t.arg.id({ required: true }),
      force: t.arg.boolean({ defaultValue: false }),
    },
    resolve: (_root, { id, force }, context) => {
      requireAdmin(context);
      const message = { type: 'remove', serverId: id, force: force === true } as const;
      return askActor(context, serversActor.at('all'), message);
    },
  }),
}));

/** The one that apps are put on comes first, then those of its driver, then those that were added. */
function serversOf({ reader, settings }: ReadSide): Readonly<ServerView>[] {
  const { server } = settings;
  const isSwarm = server.runtime === 'swarm';
  // A swarm that was not seen yet may be anything.
  const own = { ...server, connected: !isSwarm, draining: false, lastSeenAtMs: null };
  const all = [...reader.scan(tables.servers)].sort(byName);
  const added = all.filter(({ agent }) => agent !== undefined);
  const known = all.filter(({ agent, runtime }) => !agent && runtime === server.runtime);
  if (!isSwarm) return [{ ...own, isolation: known[0]?.isolation }, ...added];
  const others = known.filter(({ id }) => id !== server.id);
  return [known.find(({ id }) => id === server.id) ?? own, ...others, ...added];
}

function administers({ read, principal }: GraphContext): boolean {
  return can(read.reader, principal, 'admin', { kind: 'instance' });
}

function byName(a: Readonly<ServerRecord>, b: Readonly<ServerRecord>): number {
  return compare(a.name, b.name) || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function shown(context: GraphContext, added: AddedServer) {
  const url = publicUrlOf(context.read);
  return { ...added, installCommand: installCommand(url, added) };
}

/** The token goes to the script by its standard input: `printf` is no program, whose arguments others could read. */
function installCommand(url: string, { server, bootstrapToken }: AddedServer): string {
  const takeover = server.agent?.takeover;
  const script = takeover && !takeover.isOver ? 'takeover.sh' : 'install.sh';
  const fetched = `"$(curl -fsSL ${quoted(`${url}/api/agent/${script}`)})"`;
  return `printf %s ${quoted(bootstrapToken)} | sh -c ${fetched} ${script} --control ${quoted(url)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

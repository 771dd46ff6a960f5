/** Owns what the instance says of itself in the schema: its settings, servers and MCP switch. */
import { instanceActor } from '../../actors/instance/protocol.ts';
import type { InstancePatch } from '../../actors/instance/protocol.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import type { ServerRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requireAdmin, requireSignedIn, requireTeam, writeSide } from '../access.ts';
import type { ReadSide } from '../context.ts';
import type { Builder } from './builder.ts';

interface InstanceView {
  logMaxDays: number;
  publicUrl: string;
}

type ServerView = Omit<ServerRecord, 'runtime'> & { runtime: string };

export function addInstance(builder: Builder): void {
  const settings = builder.objectRef<InstanceView>('InstanceSettings').implement({
    fields: (t) => ({
      logMaxDays: t.exposeInt('logMaxDays'),
      publicUrl: t.exposeString('publicUrl'),
    }),
  });
  const server = builder.objectRef<ServerView>('Server').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      runtime: t.exposeString('runtime'),
      connected: t.exposeBoolean('connected'),
      draining: t.exposeBoolean('draining'),
      version: t.exposeString('version', { nullable: true }),
      lastSeenAt: t.expose('lastSeenAtMs', { type: 'DateTime', nullable: true }),
      takeover: t.string({ nullable: true, resolve: () => null }),
    }),
  });
  const mcpSettings = builder.objectRef<{ enabled: boolean }>('McpSettings').implement({
    fields: (t) => ({ enabled: t.exposeBoolean('enabled') }),
  });
  builder.queryFields((t) => ({
    instanceSettings: t.field({
      type: settings,
      resolve: (_root, _args, context) => {
        requireSignedIn(context);
        return viewOf(context.read);
      },
    }),
    servers: t.field({
      type: [server],
      resolve: (_root, _args, context) => {
        requireTeam(context, null);
        return serversOf(context.read);
      },
    }),
    mcpSettings: t.field({
      type: mcpSettings,
      description: 'Of the acting team.',
      resolve: (_root, _args, context) => {
        const team = context.read.reader.get(tables.teams, requireTeam(context, null));
        return { enabled: team?.mcpEnabled === true };
      },
    }),
  }));
  addChanges(builder, { settings, mcpSettings });
}

interface ChangeTypes {
  settings: PothosSchemaTypes.ObjectRef<BuilderTypes, InstanceView>;
  mcpSettings: PothosSchemaTypes.ObjectRef<BuilderTypes, { enabled: boolean }>;
}
type BuilderTypes = Builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never;

function addChanges(builder: Builder, { settings, mcpSettings }: ChangeTypes): void {
  builder.mutationFields((t) => ({
    setMcpSettings: t.field({
      type: mcpSettings,
      description: 'manage_team. Of the acting team.',
      args: { enabled: t.arg.boolean({ required: true }) },
      resolve: async (_root, { enabled }, context) => {
        const team = teamActor.at(requireTeam(context, 'manage_team'));
        const { mcpEnabled } = await writeSide(context).actors.ask(team, {
          type: 'mcp-set',
          enabled,
        });
        return { enabled: mcpEnabled };
      },
    }),
    updateInstanceSettings: t.field({
      type: settings,
      description: 'For the instance administrator.',
      args: { logMaxDays: t.arg.int(), publicUrl: t.arg.string() },
      resolve: async (_root, { logMaxDays, publicUrl }, context) => {
        requireAdmin(context);
        const patch: InstancePatch = {};
        if (logMaxDays != null) patch.logMaxDays = logMaxDays;
        if (publicUrl != null) patch.publicUrl = publicUrl;
        await writeSide(context).actors.ask(instanceActor.at('instance'), {
          type: 'update',
          patch,
        });
        return viewOf(context.read);
      },
    }),
  }));
}

/** The one that apps are put on comes first. */
function serversOf({ reader, settings }: ReadSide): Readonly<ServerView>[] {
  const { server } = settings;
  const isSwarm = server.runtime === 'swarm';
  // A swarm that was not seen yet may be anything.
  const own = { ...server, connected: !isSwarm, draining: false, lastSeenAtMs: null };
  if (!isSwarm) return [own];
  const known = [...reader.scan(tables.servers)];
  const others = known.filter(({ id }) => id !== server.id);
  others.sort((a, b) => compare(a.name, b.name) || compare(a.id, b.id));
  return [reader.get(tables.servers, server.id) ?? own, ...others];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function viewOf(read: ReadSide): InstanceView {
  const record = read.reader.get(tables.instance, 'instance');
  return {
    logMaxDays: record?.logMaxDays ?? read.settings.logMaxDays,
    publicUrl: publicUrlOf(read),
  };
}

/** Where clients reach this instance, without a slash at the end. */
export function publicUrlOf({ reader, settings }: ReadSide): string {
  return reader.get(tables.instance, 'instance')?.publicUrl ?? settings.publicUrl;
}

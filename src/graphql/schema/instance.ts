/** Owns what the instance says of itself in the schema: its settings, servers and MCP switch. */
import { instanceActor } from '../../actors/instance/protocol.ts';
import type { InstancePatch } from '../../actors/instance/protocol.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { tables } from '../../store/tables.ts';
import { requireAdmin, requireSignedIn, requireTeam, writeSide } from '../access.ts';
import type { GraphqlSettings, ReadSide } from '../contract.ts';
import type { Builder } from './builder.ts';

interface InstanceView {
  logMaxDays: number;
  publicUrl: string;
}

export function addInstance(builder: Builder): void {
  const settings = builder.objectRef<InstanceView>('InstanceSettings').implement({
    fields: (t) => ({
      logMaxDays: t.exposeInt('logMaxDays'),
      publicUrl: t.exposeString('publicUrl'),
    }),
  });
  const server = builder.objectRef<GraphqlSettings['server']>('Server').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      runtime: t.exposeString('runtime'),
      connected: t.boolean({ resolve: () => true }),
      draining: t.boolean({ resolve: () => false }),
      version: t.exposeString('version', { nullable: true }),
      lastSeenAt: t.field({ type: 'DateTime', nullable: true, resolve: () => null }),
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
        return [context.read.settings.server];
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

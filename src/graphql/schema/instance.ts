/** Owns what the instance says of itself in the schema: its settings and MCP switch. */
import { instanceActor, type InstancePatch } from '../../actors/instance/actor.ts';
import { appsCertificateId, panelCertificateId } from '../../actors/edge/apps-certificate.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { can } from '../../auth/rights/authorize.ts';
import type { CertificateOrderRecord, CertificateRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requireAdmin, requireSignedIn, requireTeam, writeSide } from '../access.ts';
import type { InstanceStatus, MachineStatus, ReadSide } from '../context.ts';
import { builder } from './builder.ts';
import { CertificateType } from './domains.ts';
import { actingTeam, needs } from './needs.ts';

interface InstanceView {
  logMaxDays: number;
  publicUrl: string;
}

interface InstanceCertificate {
  host: string;
  certificate: Readonly<CertificateRecord> | undefined;
  order: Readonly<CertificateOrderRecord> | undefined;
}

const InstanceCertificateType = builder
  .objectRef<InstanceCertificate>('InstanceCertificate')
  .implement({
    description: 'One that is ordered for the instance itself.',
    fields: (t) => ({
      host: t.exposeString('host', {
        description: "The panel's, or the wildcard that all apps' names are below.",
      }),
      certificate: t.field({
        type: CertificateType,
        nullable: true,
        resolve: ({ certificate }) => certificate,
      }),
      error: t.string({
        nullable: true,
        description: 'Why none could be had, or the one that is there could not be renewed.',
        resolve: ({ order }) => order?.error ?? null,
      }),
      nextTryAt: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'When that is tried again.',
        resolve: ({ order }) => (order?.error === undefined ? null : order.nextTryAtMs),
      }),
    }),
  });

const InstanceSettingsType = builder.objectRef<InstanceView>('InstanceSettings').implement({
  fields: (t) => ({
    logMaxDays: t.exposeInt('logMaxDays'),
    publicUrl: t.exposeString('publicUrl'),
    certificates: t.field({
      type: [InstanceCertificateType],
      nullable: true,
      description: 'Those of the instance itself; null for who does not administer it.',
      resolve: (_settings, _args, { read, principal }) =>
        can(read.reader, principal, 'admin', { kind: 'instance' }) ? certificatesOf(read) : null,
    }),
  }),
});

const MachineStatusType = builder.objectRef<MachineStatus>('MachineStatus').implement({
  description: 'The machine that Gangway runs on.',
  fields: (t) => ({
    name: t.exposeString('name'),
    system: t.exposeString('system', { description: 'Its kernel, with the version.' }),
    cores: t.exposeInt('cores'),
    load: t.exposeFloat('load', {
      description: 'Threads that ran or waited for a core, on average of the last minute.',
    }),
    memoryBytes: t.exposeFloat('memoryBytes'),
    memoryFreeBytes: t.exposeFloat('memoryFreeBytes', {
      description: 'What programs can still get.',
    }),
    diskBytes: t.exposeFloat('diskBytes', { description: 'Of the disk with the data directory.' }),
    diskFreeBytes: t.exposeFloat('diskFreeBytes'),
  }),
});

const InstanceStatusType = builder.objectRef<InstanceStatus>('InstanceStatus').implement({
  description: 'How the instance is at the moment of the question.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Of Gangway, as it runs.' }),
    installedVersion: t.exposeString('installedVersion', {
      description: 'As it lies on the disk: what the next start runs.',
    }),
    nodeVersion: t.exposeString('nodeVersion'),
    startedAt: t.expose('startedAtMs', { type: 'DateTime' }),
    placeAnswers: t.exposeBoolean('placeAnswers', {
      nullable: true,
      description:
        'Whether what runs apps and databases answers within two seconds; null before anything was deployed.',
    }),
    edgeAnswers: t.exposeBoolean('edgeAnswers', {
      nullable: true,
      description:
        "Whether the edge takes visitors' connections within two seconds; null before anything was deployed.",
    }),
    warnings: t.exposeStringList('warnings', {
      description: 'What is not as safe as it could be: sentences for people.',
    }),
    machine: t.expose('machine', { type: MachineStatusType }),
  }),
});

const McpSettingsType = builder.objectRef<{ enabled: boolean }>('McpSettings').implement({
  fields: (t) => ({ enabled: t.exposeBoolean('enabled') }),
});

builder.queryFields((t) => ({
  instanceSettings: t.field({
    type: InstanceSettingsType,
    resolve: (_root, _args, context) => {
      requireSignedIn(context);
      return viewOf(context.read);
    },
  }),
  instanceStatus: t.field({
    type: InstanceStatusType,
    description: 'For the instance administrator.',
    resolve: (_root, _args, context) => {
      requireAdmin(context);
      const { instance } = writeSide(context);
      if (!instance) throw new Error('There is no instance to look at here.');
      return instance();
    },
  }),
  mcpSettings: t.field({
    type: McpSettingsType,
    description: 'Of the acting team.',
    resolve: (_root, _args, context) => {
      const team = context.read.reader.get(tables.teams, requireTeam(context, null));
      return { enabled: team?.mcpEnabled === true };
    },
  }),
}));

builder.mutationFields((t) => ({
  setMcpSettings: t.field({
    type: McpSettingsType,
    ...needs('manage_team', actingTeam, {
      description: 'Of the acting team.',
      args: { enabled: t.arg.boolean({ required: true }) },
      resolve: async (teamId, { enabled }, context) => {
        const team = await askActor(context, teamActor.at(teamId), { type: 'mcp-set', enabled });
        return { enabled: team.mcpEnabled };
      },
    }),
  }),
  updateInstanceSettings: t.field({
    type: InstanceSettingsType,
    description: 'For the instance administrator.',
    args: { logMaxDays: t.arg.int(), publicUrl: t.arg.string() },
    resolve: async (_root, { logMaxDays, publicUrl }, context) => {
      requireAdmin(context);
      const patch: InstancePatch = {};
      if (logMaxDays != null) patch.logMaxDays = logMaxDays;
      if (publicUrl != null) patch.publicUrl = publicUrl;
      await askActor(context, instanceActor.at('instance'), { type: 'update', patch });
      return viewOf(context.read);
    },
  }),
}));

/** Of the panel only where one was ordered: it may be served elsewhere. */
function certificatesOf(read: ReadSide): InstanceCertificate[] {
  const { reader, settings } = read;
  const of = (host: string, id: string): InstanceCertificate => ({
    host,
    certificate: reader.get(tables.certificates, id),
    order: reader.get(tables.certificateOrders, id),
  });
  const { appsWildcard } = settings;
  const { hostname } = new URL(publicUrlOf(read));
  const panel = of(hostname, panelCertificateId(hostname));
  return [
    ...(appsWildcard === null ? [] : [of(appsWildcard, appsCertificateId(appsWildcard))]),
    ...(panel.certificate === undefined && panel.order === undefined ? [] : [panel]),
  ];
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

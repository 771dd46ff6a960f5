/** Owns destinations of backups in the schema. */
import { destinationActor, type TestVerdict } from '../../actors/destination/protocol.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { keepsInstance } from '../../auth/rights/backup-resource.ts';
import { newId } from '../../lib/ids.ts';
import { type DestinationRecord, destinationKinds } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requireAdmin, requireTeam } from '../access.ts';
import { builder, secret } from './builder.ts';
import { actingTeam, destinationById, needs } from './needs.ts';

const DestinationKindType = builder.enumType('DestinationKind', { values: destinationKinds });

const BackupDestinationType = builder
  .objectRef<Readonly<DestinationRecord>>('BackupDestination')
  .implement({
    description: 'Its keys are never shown again.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      kind: t.expose('kind', { type: DestinationKindType }),
      path: t.exposeString('path', { nullable: true }),
      endpoint: t.string({ nullable: true, resolve: ({ bucket }) => bucket?.endpoint ?? null }),
      bucket: t.string({ nullable: true, resolve: ({ bucket }) => bucket?.name ?? null }),
      region: t.string({ nullable: true, resolve: ({ bucket }) => bucket?.region ?? null }),
      encrypted: t.boolean({ resolve: ({ encryption }) => encryption !== null }),
      lastTestAt: t.expose('lastTestAtMs', { type: 'DateTime', nullable: true }),
      lastTestError: t.exposeString('lastTestError', { nullable: true }),
    }),
  });

const DestinationTestType = builder.objectRef<TestVerdict>('DestinationTest').implement({
  fields: (t) => ({
    ok: t.exposeBoolean('ok'),
    error: t.exposeString('error', { nullable: true }),
  }),
});

const CreateDestinationInput = builder.inputType('CreateDestinationInput', {
  fields: (t) => ({
    name: t.string({ required: true }),
    kind: t.field({ type: DestinationKindType, required: true }),
    path: t.string({
      description:
        'Of kind server: relative to the folder of backups in the data directory, or below a folder that the ' +
        'operator named. Of kind s3: what keys begin with. A part of its own follows for each destination.',
    }),
    endpoint: t.string({ description: 'Default that of AWS for the region.' }),
    bucket: t.string(),
    region: t.string({ description: 'Default us-east-1.' }),
    accessKey: t.string(),
    secretKey: t.string(),
    encrypt: t.boolean({ defaultValue: true }),
  }),
});

builder.queryField('backupDestinations', (t) =>
  t.field({
    type: [BackupDestinationType],
    description: 'Those of the acting team, the oldest first.',
    resolve: (_root, _args, context) =>
      context.read.reader.list(tables.destinations, 'team', [requireTeam(context, null)], {
        limit: Infinity,
      }),
  }),
);

builder.mutationFields((t) => ({
  createDestination: t.field({
    type: BackupDestinationType,
    ...needs('manage_backup_destinations', actingTeam, {
      args: { input: t.arg({ type: CreateDestinationInput, required: true }) },
      resolve: (teamId, { input }, context) => {
        const destination = {
          ...{ name: input.name, kind: input.kind, path: input.path ?? null },
          ...{ endpoint: input.endpoint ?? null, bucket: input.bucket ?? null },
          ...{ region: input.region ?? null, accessKey: input.accessKey ?? null },
          ...{ secretKey: input.secretKey ?? null, encrypt: input.encrypt ?? true },
        };
        const message = {
          type: 'destination-create',
          destinationId: newId('dst'),
          destination,
        } as const;
        return askActor(context, teamActor.at(teamId), message);
      },
    }),
  }),
  testDestination: t.field({
    type: DestinationTestType,
    ...needs('manage_backup_destinations', destinationById, {
      description: 'An object is written, read back, compared and removed.',
      resolve: ({ id }, _args, context) =>
        askActor(context, destinationActor.at(id), { type: 'test' }),
    }),
  }),
  deleteDestination: t.boolean(
    needs('manage_backup_destinations', destinationById, {
      description: 'Backups that it holds stay where they are; they need the recovery key.',
      resolve: ({ id }, _args, context) =>
        askActor(context, destinationActor.at(id), { type: 'delete' }),
    }),
  ),
  destinationRecoveryKey: t.string({
    ...secret,
    ...needs('manage_backup_destinations', destinationById, {
      description:
        'The identity of age that opens its backups; keep it elsewhere. Where the instance is backed up, for the instance administrator.',
      resolve: ({ id }, _args, context) => {
        if (keepsInstance(context.read.reader, id)) requireAdmin(context);
        return askActor(context, destinationActor.at(id), { type: 'recovery-key' });
      },
    }),
  }),
}));

/** Owns an app's variables in the schema. A secret's value leaves only through `revealEnv`. */
import { appActor, type EnvEntry } from '../../actors/app/protocol.ts';
import { referencesIn } from '../../actors/database/settings/references.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { EnvRecord, EnvTarget } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requireDatabase } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { builder, secret } from './builder.ts';
import { appByAppId, needs } from './needs.ts';

const EnvTargetType = builder.enumType('EnvTarget', { values: ['production', 'preview'] as const });

const EnvVarType = builder.objectRef<Readonly<EnvRecord>>('EnvVar').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    key: t.exposeString('key'),
    value: t.exposeString('value', {
      nullable: true,
      description: 'Null for a secret.',
      ...secret,
    }),
    masked: t.exposeString('masked'),
    isSecret: t.exposeBoolean('isSecret'),
    targets: t.expose('targets', { type: [EnvTargetType] }),
    updatedAt: t.expose('updatedAtMs', { type: 'DateTime' }),
  }),
});

export const EnvEntryInput = builder.inputType('EnvEntryInput', {
  fields: (t) => ({
    key: t.string({ required: true }),
    value: t.string({ required: true }),
    isSecret: t.boolean({ defaultValue: true }),
    targets: t.field({
      type: [EnvTargetType],
      description: 'Absent: as they are; for a new variable, both.',
    }),
  }),
});

builder.queryField('env', (t) =>
  t.field({
    type: [EnvVarType],
    ...needs('manage_env', appByAppId, {
      resolve: (app, _args, { read }) => read.reader.list(tables.env, 'app', [app.id]),
    }),
  }),
);

builder.mutationFields((t) => ({
  upsertEnv: t.field({
    type: [EnvVarType],
    ...needs('manage_env', appByAppId, {
      description:
        'Takes effect with the next deployment or restart. A value may refer to a database of the team by ${database.<id>.url}, which needs reveal_secrets on it.',
      args: { entries: t.arg({ type: [EnvEntryInput], required: true }) },
      resolve: (app, { entries }, context) => {
        requireReferences(context, app.teamId, entries);
        const stored = context.read.reader.list(tables.env, 'app', [app.id]);
        const known = new Map(stored.map((record) => [record.key, record.targets]));
        return askActor(context, appActor.at(app.id), {
          type: 'env-upsert',
          entries: entries.map((entry) => toEntry(entry, known.get(entry.key))),
        });
      },
    }),
  }),
  deleteEnv: t.boolean(
    needs('manage_env', appByAppId, {
      description: 'False when there was none.',
      args: { key: t.arg.string({ required: true }) },
      resolve: ({ id }, { key }, context) =>
        askActor(context, appActor.at(id), { type: 'env-delete', key }),
    }),
  ),
  revealEnv: t.string({
    ...secret,
    ...needs('reveal_secrets', appByAppId, {
      args: { key: t.arg.string({ required: true }) },
      resolve: ({ id }, { key }, context) =>
        askActor(context, appActor.at(id), { type: 'env-reveal', key }),
    }),
  }),
}));

/**
 * Who sets a variable that refers to a database could read its password by it: each is asked for as if
 * it were revealed.
 */
export function requireReferences(
  context: GraphContext,
  teamId: string,
  entries: readonly { value: string }[],
): void {
  for (const { value } of entries) {
    for (const id of referencesIn(value)) {
      const database = requireDatabase(context, id, 'reveal_secrets');
      if (database.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such database.');
    }
  }
}

interface EntryArgs {
  key: string;
  value: string;
  isSecret?: boolean | null | undefined;
  targets?: readonly EnvTarget[] | null | undefined;
}

export function toEntry(entry: EntryArgs, known?: readonly EnvTarget[]): EnvEntry {
  return {
    key: entry.key,
    value: entry.value,
    isSecret: entry.isSecret ?? true,
    targets: [...(entry.targets ?? known ?? (['production', 'preview'] as const))],
  };
}

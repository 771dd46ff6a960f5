/** Owns an app's variables in the schema. A secret's value leaves only through `revealEnv`. */
import { appActor } from '../../actors/app/protocol.ts';
import type { EnvEntry } from '../../actors/app/protocol.ts';
import { referencesIn } from '../../actors/database/settings/references.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { EnvRecord, EnvTarget } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requireApp, requireDatabase, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { type Builder, secret } from './builder.ts';

export function addEnv(builder: Builder) {
  const types = addTypes(builder);
  const { envVar } = types;
  builder.queryFields((t) => ({
    env: t.field({
      type: [envVar],
      description: 'manage_env.',
      args: { appId: t.arg.id({ required: true }) },
      resolve: (_root, { appId }, context) => {
        const app = requireApp(context, appId, 'manage_env');
        return context.read.reader.list(tables.env, 'app', [app.id]);
      },
    }),
  }));
  addChanges(builder, types);
  return types;
}

function addTypes(builder: Builder) {
  const target = builder.enumType('EnvTarget', { values: ['production', 'preview'] as const });
  const envVar = builder.objectRef<Readonly<EnvRecord>>('EnvVar').implement({
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
      targets: t.expose('targets', { type: [target] }),
      updatedAt: t.field({ type: 'DateTime', resolve: (record) => record.updatedAtMs }),
    }),
  });
  const entryInput = builder.inputType('EnvEntryInput', {
    fields: (t) => ({
      key: t.string({ required: true }),
      value: t.string({ required: true }),
      isSecret: t.boolean({ defaultValue: true }),
      targets: t.field({
        type: [target],
        description: 'Absent: as they are; for a new variable, both.',
      }),
    }),
  });
  return { envVar, entryInput };
}

type EnvTypes = ReturnType<typeof addTypes>;

function addChanges(builder: Builder, { envVar, entryInput }: EnvTypes): void {
  builder.mutationFields((t) => ({
    upsertEnv: t.field({
      type: [envVar],
      description:
        'manage_env. Takes effect with the next deployment or restart. A value may refer to a database of the team by ${database.<id>.url}, which needs reveal_secrets on it.',
      args: {
        appId: t.arg.id({ required: true }),
        entries: t.arg({ type: [entryInput], required: true }),
      },
      resolve: (_root, { appId, entries }, context) => {
        const app = requireApp(context, appId, 'manage_env');
        requireReferences(context, app.teamId, entries);
        const known = new Map(
          context.read.reader
            .list(tables.env, 'app', [app.id])
            .map((record) => [record.key, record.targets]),
        );
        return writeSide(context).actors.ask(appActor.at(app.id), {
          type: 'env-upsert',
          entries: entries.map((entry) => toEntry(entry, known.get(entry.key))),
        });
      },
    }),
    deleteEnv: t.boolean({
      description: 'manage_env. False when there was none.',
      args: { appId: t.arg.id({ required: true }), key: t.arg.string({ required: true }) },
      resolve: (_root, { appId, key }, context) => {
        const app = requireApp(context, appId, 'manage_env');
        return writeSide(context).actors.ask(appActor.at(app.id), { type: 'env-delete', key });
      },
    }),
    revealEnv: t.string({
      ...secret,
      description: 'reveal_secrets.',
      args: { appId: t.arg.id({ required: true }), key: t.arg.string({ required: true }) },
      resolve: (_root, { appId, key }, context) => {
        const app = requireApp(context, appId, 'reveal_secrets');
        return writeSide(context).actors.ask(appActor.at(app.id), { type: 'env-reveal', key });
      },
    }),
  }));
}

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

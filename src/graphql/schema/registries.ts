/** Owns registries in the schema: where the images of a team come from. */
import { teamActor } from '../../actors/team/protocol.ts';
import type { RegistryRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor } from '../access.ts';
import { builder } from './builder.ts';
import { actingTeam, needs } from './needs.ts';

const RegistryType = builder.objectRef<Readonly<RegistryRecord>>('Registry').implement({
  description: 'Its password is never shown again.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    host: t.exposeString('host'),
    username: t.exposeString('username', { nullable: true }),
  }),
});

builder.queryField('registries', (t) =>
  t.field({
    type: [RegistryType],
    ...needs('manage_registries', actingTeam, {
      description: 'Those of the acting team, the oldest first.',
      resolve: (teamId, _args, { read }) =>
        read.reader.list(tables.registries, 'team', [teamId], { limit: Infinity }),
    }),
  }),
);

builder.mutationFields((t) => ({
  addRegistry: t.field({
    type: RegistryType,
    ...needs('manage_registries', actingTeam, {
      description:
        'One for each host; its login is used for pulls and for the FROM lines of builds.',
      args: {
        name: t.arg.string({ required: true }),
        host: t.arg.string({ required: true }),
        username: t.arg.string(),
        password: t.arg.string(),
      },
      resolve: (teamId, { name, host, username = null, password = null }, context) => {
        const registry = { name, host, username, password };
        return askActor(context, teamActor.at(teamId), { type: 'registry-add', registry });
      },
    }),
  }),
  removeRegistry: t.boolean(
    needs('manage_registries', actingTeam, {
      description: 'What was pulled with it stays.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (teamId, { id }, context) =>
        askActor(context, teamActor.at(teamId), { type: 'registry-remove', registryId: id }),
    }),
  ),
}));

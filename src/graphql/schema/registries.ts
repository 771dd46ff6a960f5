/** Owns registries in the schema: where the images of a team come from. */
import { teamActor } from '../../actors/team/protocol.ts';
import type { RegistryRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requireTeam, writeSide } from '../access.ts';
import type { Builder } from './builder.ts';

export function addRegistries(builder: Builder): void {
  const registry = builder.objectRef<Readonly<RegistryRecord>>('Registry').implement({
    description: 'Its password is never shown again.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      host: t.exposeString('host'),
      username: t.exposeString('username', { nullable: true }),
    }),
  });
  builder.queryFields((t) => ({
    registries: t.field({
      type: [registry],
      description: 'manage_registries. Those of the acting team, the oldest first.',
      resolve: (_root, _args, context) => {
        const teamId = requireTeam(context, 'manage_registries');
        return context.read.reader.list(tables.registries, 'team', [teamId], { limit: Infinity });
      },
    }),
  }));
  builder.mutationFields((t) => ({
    addRegistry: t.field({
      type: registry,
      description:
        'manage_registries. One for each host; its login is used for pulls and for the FROM lines of builds.',
      args: {
        name: t.arg.string({ required: true }),
        host: t.arg.string({ required: true }),
        username: t.arg.string(),
        password: t.arg.string(),
      },
      resolve: (_root, { name, host, username = null, password = null }, context) => {
        const teamId = requireTeam(context, 'manage_registries');
        const message = {
          type: 'registry-add',
          registry: { name, host, username, password },
        } as const;
        return writeSide(context).actors.ask(teamActor.at(teamId), message);
      },
    }),
    removeRegistry: t.boolean({
      description: 'manage_registries. What was pulled with it stays.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => {
        const teamId = requireTeam(context, 'manage_registries');
        const message = { type: 'registry-remove', registryId: id } as const;
        return writeSide(context).actors.ask(teamActor.at(teamId), message);
      },
    }),
  }));
}

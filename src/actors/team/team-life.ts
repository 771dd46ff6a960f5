/**
 * Owns a team's settings and its end.
 *
 * 1. A team ends whole, in one commit: its people, roles, folders, tokens, registries and invites go with it.
 * 2. It ends only when it is empty: apps and databases, also those in trash, are deleted before.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/contract.ts';
import { type Change, put, remove, take } from '../../store/table.ts';
import { tables } from '../../store/tables.ts';
import type { Actor, ActorContext } from '../runtime/contract.ts';
import { inviteEnd } from './invites.ts';
import { checkedTeamName } from './new-team.ts';
import { mustHold, teamOf } from './power.ts';
import type { TeamProtocol } from './protocol.ts';

type Context = ActorContext<TeamProtocol>;

export function teamLifeHandlers(
  { reader }: { reader: Reader },
  context: Context,
): Pick<Actor<TeamProtocol>['handlers'], 'team-update' | 'team-delete'> {
  const teamId = context.ref.id;
  return {
    'team-update': async ({ name, requireTwoFactor }) => {
      const team = teamOf(reader, teamId);
      const changed = {
        ...team,
        name: name === null ? team.name : checkedTeamName(name),
        requireTwoFactor: requireTwoFactor ?? team.requireTwoFactor,
      };
      await context.commit([put(tables.teams, changed)]);
      return changed;
    },
    'team-delete': async ({ by }) => {
      teamOf(reader, teamId);
      mustHold(reader, teamId, by, 'owner');
      const first = { limit: 1 };
      if (reader.list(tables.apps, 'team', [teamId], first).length > 0) {
        throw new ServiceError('CONFLICT', 'The team has apps: delete them first.');
      }
      if (reader.count(tables.databases, 'team', [teamId]) > 0) {
        throw new ServiceError('CONFLICT', 'The team has databases: delete them first.');
      }
      if (reader.list(tables.trash, 'team', [teamId], first).length > 0) {
        throw new ServiceError('CONFLICT', 'The team has things in trash: purge them first.');
      }
      await context.commit([take(tables.teams, teamId), ...everythingOf(reader, context)]);
      return true;
    },
  };
}

function everythingOf(reader: Reader, context: Context): Change[] {
  const teamId = context.ref.id;
  const all = { limit: Infinity };
  return [
    ...reader
      .list(tables.members, 'team', [teamId], all)
      .map((member) => remove(tables.members, [teamId, member.userId])),
    ...reader
      .list(tables.folderGrants, 'member', [teamId], all)
      .map((grant) => remove(tables.folderGrants, [grant.folderId, grant.userId])),
    ...reader
      .list(tables.invites, 'team', [teamId], all)
      .flatMap((invite) => inviteEnd(context, invite)),
    ...reader
      .list(tables.tokens, 'team', [teamId], all)
      .map((token) => remove(tables.tokens, token.id)),
    ...reader
      .list(tables.registries, 'team', [teamId], all)
      .map((registry) => remove(tables.registries, registry.id)),
    ...reader
      .list(tables.folders, 'team', [teamId], all)
      .map((folder) => remove(tables.folders, folder.id)),
    ...reader
      .list(tables.roles, 'team', [teamId], all)
      .map((role) => remove(tables.roles, role.id)),
  ];
}

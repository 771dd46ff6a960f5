/**
 * Owns the `team` actor: one table of handlers, from the files beside this one. A handler ends only when
 * its commit is durable, so that the next one reads the result: a late note of a token's use never restores
 * a revoked token.
 */
import type { ActorDefinition } from '../runtime/actor.ts';
import { folderHandlers, placeHandlers } from './folders.ts';
import { inviteHandlers } from './invites.ts';
import { memberHandlers, roleHandlers } from './people.ts';
import { type TeamProtocol, teamActor } from './protocol.ts';
import { registryHandlers } from './registries.ts';
import { Team, type TeamParts } from './team.ts';
import { teamLifeHandlers } from './team-life.ts';
import { tokenHandlers } from './tokens.ts';

export function teamActorDefinition(parts: TeamParts): ActorDefinition<TeamProtocol> {
  return {
    kind: teamActor,
    activate: (context) => {
      const team = new Team(parts, context);
      return {
        ...teamLifeHandlers(team),
        ...memberHandlers(team),
        ...roleHandlers(team),
        ...inviteHandlers(team),
        ...tokenHandlers(team),
        ...registryHandlers(team),
        ...folderHandlers(team),
        ...placeHandlers(team),
      };
    },
  };
}

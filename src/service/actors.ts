/** Owns the list of actors: what there is, and what each is given. */
import { accountActorDefinition } from '../actors/account/actor.ts';
import { activityActorDefinition } from '../actors/activity/actor.ts';
import { appDefinition } from '../actors/app/app-actor.ts';
import { databaseDefinition } from '../actors/database/database-actor.ts';
import { edgeDefinition } from '../actors/edge/edge-actor.ts';
import { instanceActorDefinition } from '../actors/instance/actor.ts';
import type { ActorRuntime } from '../actors/runtime/runtime.ts';
import { serversDefinition } from '../actors/server/actor.ts';
import { teamActorDefinition } from '../actors/team/actor.ts';
import type { ActorParts } from './actor-parts.ts';
import { appDeps, hostNameOf } from './app-deps.ts';
import { databaseDeps } from './database-deps.ts';

export function registerActors(actors: Pick<ActorRuntime, 'register'>, parts: ActorParts): void {
  const { activityDays: days, activityMaxPerTeam: perTeamMax, logMaxDays } = parts.config;
  actors.register(activityActorDefinition({ ...parts, days, perTeamMax }));
  actors.register(accountActorDefinition({ ...parts, logMaxDays }));
  actors.register(teamActorDefinition(parts));
  actors.register(instanceActorDefinition(parts));
  actors.register(serversDefinition(parts));
  actors.register(edgeDefinition({ ...parts, hostOf: hostNameOf(parts.config) }));
  actors.register(appDefinition(appDeps(parts)));
  actors.register(databaseDefinition(databaseDeps(parts)));
}

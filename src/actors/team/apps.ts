/**
 * Owns that an app has its place: apps are made in a team, and moved between its folders, one after
 * another with what ends the team or a folder. So neither ends under an app that is on its way in.
 *
 * All else about an app is decided by its own actor, which is asked here while the team waits.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/contract.ts';
import { tables } from '../../store/tables.ts';
import { appActor } from '../app/protocol.ts';
import type { Actor, ActorContext, AskOptions } from '../runtime/contract.ts';
import { teamOf } from './power.ts';
import type { TeamProtocol } from './protocol.ts';

export function appPlaceHandlers(
  { reader }: { reader: Reader },
  context: ActorContext<TeamProtocol>,
): Pick<Actor<TeamProtocol>['handlers'], 'app-create' | 'app-move'> {
  const teamId = context.ref.id;
  // The change is the app's, and so is the record of who asked for it.
  const asked = (): AskOptions => (context.cause === null ? {} : { cause: context.cause });
  return {
    'app-create': ({ appId, app }) => {
      teamOf(reader, teamId);
      if (app.teamId !== teamId) throw new Error('an app of another team');
      return context.actors.ask(appActor.at(appId), { type: 'create', app }, asked());
    },
    'app-move': ({ appId, patch }) => {
      if (reader.get(tables.apps, appId)?.teamId !== teamId) {
        throw new ServiceError('NOT_FOUND', 'No such app.');
      }
      return context.actors.ask(appActor.at(appId), { type: 'update', patch }, asked());
    },
  };
}

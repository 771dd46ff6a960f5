/**
 * Owns that an app or a database has its place: they are made in a team, and moved between its folders,
 * one after another with what ends the team or a folder. So neither ends under one that is on its way in.
 *
 * All else about them is decided by their own actors, which are asked here while the team waits.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import { databaseActor } from '../database/protocol.ts';
import type { Actor, ActorContext, AskOptions } from '../runtime/actor.ts';
import { teamOf } from './power.ts';
import type { TeamProtocol } from './protocol.ts';

const databasesMax = 1_000;

export function appPlaceHandlers(
  { reader }: { reader: Reader },
  context: ActorContext<TeamProtocol>,
): Pick<Actor<TeamProtocol>['handlers'], 'app-create' | 'app-move' | 'database-create'> {
  const teamId = context.ref.id;
  // The change is the app's, and so is the record of who asked for it.
  const asked = (): AskOptions => (context.cause === null ? {} : { cause: context.cause });
  return {
    'app-create': ({ appId, app }) => {
      teamOf(reader, teamId);
      if (app.teamId !== teamId) throw new Error('an app of another team');
      return context.actors.ask(appActor.at(appId), { type: 'create', app }, asked());
    },
    'database-create': ({ databaseId, database }) => {
      teamOf(reader, teamId);
      if (database.teamId !== teamId) throw new Error('a database of another team');
      if (reader.count(tables.databases, 'team', [teamId]) >= databasesMax) {
        throw new ServiceError('CONFLICT', `A team has at most ${String(databasesMax)} databases.`);
      }
      const message = { type: 'create', database } as const;
      return context.actors.ask(databaseActor.at(databaseId), message, asked());
    },
    'app-move': ({ appId, patch }) => {
      if (reader.get(tables.apps, appId)?.teamId !== teamId) {
        throw new ServiceError('NOT_FOUND', 'No such app.');
      }
      return context.actors.ask(appActor.at(appId), { type: 'update', patch }, asked());
    },
  };
}

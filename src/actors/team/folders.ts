/**
 * Owns the folders of a team, the grants of single people in them besides their roles, and the place of
 * every app and database.
 *
 * 1. Apps, databases and destinations of backups are made in a team, and moved between its folders, in turn with the deletion of the
 *    team or a folder. So nothing is deleted under an app or database that is on its way in. Their own
 *    actors decide everything else about them, and the team waits for their answers.
 * 2. Only a member of the team holds a grant; a grant ends with its folder and with its member.
 * 3. An empty grant is removed.
 */
import { inOrder } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { checkedName } from '../../lib/names.ts';
import type { FolderGrantRecord } from '../../store/records/records.ts';
import { insert, put, remove, removeAll, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import { databaseActor } from '../database/protocol.ts';
import { destinationActor } from '../destination/protocol.ts';
import { gitActor } from '../git/protocol.ts';
import type { AskOptions } from '../runtime/actor.ts';
import type { TeamHandlers } from './protocol.ts';
import type { Team } from './team.ts';

const foldersMax = 1_000;
const folderDepthMax = 16;
/** Grants in one folder. */
const grantsMax = 1_000;
const databasesMax = 1_000;
const destinationsMax = 100;
const connectionsMax = 100;

export function folderHandlers(team: Team) {
  const { id: teamId, reader, context } = team;
  const grantsOn = (folderId: string): Readonly<FolderGrantRecord>[] =>
    reader.list(tables.folderGrants, 'folder', [folderId], { limit: grantsMax });
  return {
    'folder-create': async ({ name: given, parentId }) => {
      team.require();
      const name = checkedName(given, 'A folder name');
      const folder = { id: newId('fld', team.clock.now()), teamId, name, parentId };
      if (depthOf(team, parentId) >= folderDepthMax) {
        throw new ServiceError('BAD_USER_INPUT', 'Folders nest at most 16 deep.');
      }
      team.mustHaveRoom(tables.folders, foldersMax, 'folders');
      await context.commit([insert(tables.folders, folder)]);
      return folder;
    },
    'folder-delete': async ({ folderId }) => {
      team.folder(folderId);
      const inUse =
        reader.count(tables.apps, 'folder', [teamId, folderId]) > 0 ||
        reader.count(tables.databases, 'folder', [teamId, folderId]) > 0 ||
        reader.count(tables.folders, 'name', [teamId, folderId]) > 0;
      if (inUse) throw new ServiceError('CONFLICT', 'The folder is not empty.');
      await context.commit([
        take(tables.folders, folderId),
        ...removeAll(tables.folderGrants, grantsOn(folderId)),
      ]);
      return true;
    },
    'folder-grant-set': async ({ folderId, userId, capabilities: given }) => {
      team.folder(folderId);
      if (!reader.get(tables.members, [teamId, userId])) {
        throw new ServiceError('NOT_FOUND', 'No such member.');
      }
      const held = reader.get(tables.folderGrants, [folderId, userId]);
      const wanted = inOrder(given);
      if (wanted.length === 0) {
        if (held) await context.commit([remove(tables.folderGrants, [folderId, userId])]);
      } else {
        if (!held && reader.count(tables.folderGrants, 'folder', [folderId]) >= grantsMax) {
          throw new ServiceError('CONFLICT', `A folder has at most ${String(grantsMax)} grants.`);
        }
        const grant: FolderGrantRecord = { teamId, folderId, userId, capabilities: wanted };
        await context.commit([put(tables.folderGrants, grant)]);
      }
      return grantsOn(folderId);
    },
  } satisfies TeamHandlers;
}

export function placeHandlers(team: Team) {
  const { context } = team;
  // The app makes the change, and records who requested it.
  const asked = (): AskOptions => (context.cause === null ? {} : { cause: context.cause });
  return {
    'app-create': ({ appId, app }) => {
      team.require();
      if (app.teamId !== team.id) throw new Error('an app of another team');
      return context.actors.ask(appActor.at(appId), { type: 'create', app }, asked());
    },
    'database-create': ({ databaseId, database }) => {
      team.require();
      if (database.teamId !== team.id) throw new Error('a database of another team');
      team.mustHaveRoom(tables.databases, databasesMax, 'databases');
      const message = { type: 'create', database } as const;
      return context.actors.ask(databaseActor.at(databaseId), message, asked());
    },
    'destination-create': ({ destinationId, destination }) => {
      team.require();
      team.mustHaveRoom(tables.destinations, destinationsMax, 'destinations of backups');
      const message = { type: 'create', teamId: team.id, destination } as const;
      return context.actors.ask(destinationActor.at(destinationId), message, asked());
    },
    'git-connect': ({ connectionId, connection }) => {
      team.require();
      team.mustHaveRoom(tables.gitConnections, connectionsMax, 'git connections');
      const message = { type: 'create', teamId: team.id, connection } as const;
      return context.actors.ask(gitActor.at(connectionId), message, asked());
    },
    'app-move': ({ appId, patch }) => {
      if (team.reader.get(tables.apps, appId)?.teamId !== team.id) {
        throw new ServiceError('NOT_FOUND', 'No such app.');
      }
      return context.actors.ask(appActor.at(appId), { type: 'update', patch }, asked());
    },
  } satisfies TeamHandlers;
}

/** How many folders stand above a new one in `parentId`; NOT_FOUND for a parent of another team. */
function depthOf(team: Team, parentId: string | null): number {
  let depth = 0;
  for (let id = parentId; id !== null && depth <= folderDepthMax; depth++) {
    id = team.folder(id).parentId;
  }
  return depth;
}

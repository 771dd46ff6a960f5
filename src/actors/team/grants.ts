/**
 * Owns what single people hold in single folders of a team, besides their roles.
 *
 * 1. Only a member of the team holds a grant; a grant goes with its folder and with its member.
 * 2. A grant gives something: an empty one is removed.
 */
import { type Capability, capabilities } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { FolderGrantRecord } from '../../store/records/records.ts';
import { type Change, put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext } from '../runtime/actor.ts';
import type { TeamProtocol } from './protocol.ts';

const grantsMax = 1_000;

export function grantHandlers(
  { reader }: { reader: Reader },
  context: ActorContext<TeamProtocol>,
): Pick<Actor<TeamProtocol>['handlers'], 'folder-grant-set'> {
  const teamId = context.ref.id;
  return {
    'folder-grant-set': async ({ folderId, userId, capabilities: given }) => {
      if (reader.get(tables.folders, folderId)?.teamId !== teamId) {
        throw new ServiceError('NOT_FOUND', 'No such folder.');
      }
      if (!reader.get(tables.members, [teamId, userId])) {
        throw new ServiceError('NOT_FOUND', 'No such member.');
      }
      const held = reader.get(tables.folderGrants, [folderId, userId]);
      const wanted = inOrder(given);
      if (wanted.length === 0) {
        if (held) await context.commit([remove(tables.folderGrants, [folderId, userId])]);
      } else {
        const count = reader.count(tables.folderGrants, 'folder', [folderId]);
        if (!held && count >= grantsMax) {
          throw new ServiceError('CONFLICT', `A folder has at most ${String(grantsMax)} grants.`);
        }
        const grant: FolderGrantRecord = { teamId, folderId, userId, capabilities: wanted };
        await context.commit([put(tables.folderGrants, grant)]);
      }
      return reader.list(tables.folderGrants, 'folder', [folderId], { limit: grantsMax });
    },
  };
}

/** The changes that end all grants on a folder; they belong into the commit that deletes it. */
export function endGrantsOnFolder(reader: Reader, folderId: string): Change[] {
  return reader
    .list(tables.folderGrants, 'folder', [folderId], { limit: grantsMax })
    .map(({ userId }) => remove(tables.folderGrants, [folderId, userId]));
}

/** Each once, in the order of the contract. */
function inOrder(given: readonly Capability[]): Capability[] {
  return capabilities.filter((capability) => given.includes(capability));
}

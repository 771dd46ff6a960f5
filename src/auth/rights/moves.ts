/**
 * Owns what moving an app between folders asks for.
 *
 * 1. Configuring it where it is, and configuring apps where it goes.
 * 2. Whoever holds a grant where it goes, and not where it is, gets it on the app by the move. So the
 *    caller has to hold at the app what is given that way: a move gives nothing that could not be
 *    given otherwise, to the caller least of all.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, FolderRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { authorize } from './authorize.ts';
import { assertMayGive } from './escalation.ts';
import type { Principal } from '../callers/principal.ts';
import { someFolderAt } from './scope.ts';

// As many as a folder may have.
const grantsMax = 1_000;

/** FORBIDDEN, NOT_FOUND for a folder that is not seen or of another team; null: out of any folder. */
export function assertMayMove(
  reader: Reader,
  principal: Principal,
  app: Readonly<AppRecord>,
  folder: Readonly<FolderRecord> | null,
): void {
  authorize(reader, principal, 'configure_apps', { kind: 'app', app });
  const { teamId } = app;
  if (folder === null) {
    authorize(reader, principal, 'configure_apps', { kind: 'team', teamId });
    return;
  }
  if (folder.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such folder.');
  authorize(reader, principal, 'configure_apps', { kind: 'folder', folder });
  const left = pathOf(reader, teamId, app.folderId);
  for (const folderId of pathOf(reader, teamId, folder.id)) {
    if (left.has(folderId)) continue;
    const grants = reader.list(tables.folderGrants, 'folder', [folderId], { limit: grantsMax });
    for (const { capabilities } of grants) {
      assertMayGive(reader, principal, teamId, capabilities, { kind: 'app', app });
    }
  }
}

function pathOf(reader: Reader, teamId: string, folderId: string | null): Set<string> {
  const path = new Set<string>();
  someFolderAt(reader, { teamId, folderId, nodeId: null }, (id) => {
    path.add(id);
    return false;
  });
  return path;
}

/**
 * Owns which rights are needed to move an app between folders.
 *
 * 1. The caller must be allowed to configure the app where it is, and apps where it goes.
 * 2. By the move, people with a grant on the new folder, and not on the old one, get its capabilities
 *    on the app. So the caller has to hold them on the app: a move gives nobody, and least of all the
 *    caller, what the caller could not give otherwise.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, FolderRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { authorize } from './authorize.ts';
import { assertMayGive } from './escalation.ts';
import type { Principal } from '../callers/principal.ts';
import { someFolderAt } from './scope.ts';

// As many grants as a folder may have.
const grantsMax = 1_000;

/**
 * FORBIDDEN, or NOT_FOUND for a folder that the caller does not see or of another team. `folder` null:
 * the app leaves its folder for the top of the team.
 */
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

/**
 * Owns what of the files of a database on this machine a copy of them needs: all but what belongs to
 * its processes, and in which order they are read while the server writes them.
 */
import type { DatabaseFiles } from '../../../store/files/snapshot.ts';

// A lock file names the process that holds it, and a server does not start beside that.
const ofProcesses = /^(?:run|tmp)\/|^data\/(?:postmaster\.(?:pid|opts)|[^/]+\.pid)$/;

/** Paths are relative to the folder of a database. */
export const databaseFiles: DatabaseFiles = {
  isFolder: (name) => /^db_[0-9a-z]+$/.test(name),
  isOfProcesses: (path) => ofProcesses.test(path),
  // PostgreSQL replays its log from the checkpoint that this file names.
  checkpoint: 'data/global/pg_control',
  log: 'data/pg_wal',
};

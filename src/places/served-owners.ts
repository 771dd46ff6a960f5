/** Owns which app or database a request is about, on the machine that it is for. */
import { isAbsolute, relative, sep } from 'node:path';
import type { AppFiles, DatabaseFiles, FilesOwner, Machine, UidRange } from './place.ts';
import { numberIn, recordIn, refused, textIn } from './plain-values.ts';

const ids = { app: /^app_[0-9a-z]{1,64}$/, database: /^db_[0-9a-z]{1,64}$/ } as const;
/** Releases are named after their deployments. */
export const releaseName = /^dpl_[0-9a-z]{1,64}$/;
const uidMax = 0xffff_ffff;

/** Each throws BAD_REQUEST. */
export interface ServedFiles {
  app(owner: unknown): AppFiles;
  database(owner: unknown): DatabaseFiles;
  /** Whom files may be lent to: the uid with a name alone. */
  lent(uid: unknown): number | null;
}

export function servedFiles(machine: Machine): ServedFiles {
  const { uids, namedUid } = machine;
  return {
    app: (owner) => machine.app(ownerIn(owner, 'app', uids?.app ?? null)),
    database: (owner) => machine.database(ownerIn(owner, 'database', uids?.database ?? null)),
    lent: (uid) => {
      if (uid === null) return null;
      if (uid === namedUid) return namedUid;
      throw refused('a uid that is not allowed');
    },
  };
}

/** Null: there are no own uids. */
function ownerIn(given: unknown, kind: keyof typeof ids, range: UidRange | null): FilesOwner {
  const owner = recordIn(given);
  const id = textIn(owner, 'id', ids[kind]);
  if (range === null) return { id, uid: null };
  const uid = numberIn(owner, 'uid', uidMax);
  if (uid < range.first || uid > range.last) throw refused('a uid that is not allowed');
  return { id, uid };
}

/** Whether the path is one of a socket in the folder of a database. */
export function isOfWorkload(appsRoot: string, path: string): boolean {
  const [id = '', folder, name, ...more] = relative(appsRoot, path).split(sep);
  const isPlain = name !== undefined && name !== '..' && more.length === 0;
  return isAbsolute(path) && ids.database.test(id) && folder === 'run' && isPlain;
}

/**
 * Owns the way back of a base backup of PostgreSQL, with its server stopped.
 *
 * 1. Its settings are those of the live server: those of the backup could name programs to run.
 * 2. The files themselves are taken as they are, with their roles and functions. So only what this instance
 *    dumped itself may come here, which is for the caller to know by its hash.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import { ServiceError } from '../../lib/errors.ts';
import { Folder, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import type { OwnFolder, DatabaseTarget } from '../targets.ts';
import { unfit, untouched } from './failures.ts';
import { swapFolders } from './folder-swap.ts';
import type { Restorer } from './restorer.ts';
import { unpackTar } from './tar-reading.ts';

const settings = ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf', 'pg_ident.conf'];
const settingMaxBytes = 4 * 1024 * 1024;
/** Without these a server starts from a part, or not at all. */
const needed = ['PG_VERSION', 'global/pg_control', 'backup_label'];

export function postgresFilesRestorer(target: DatabaseTarget): Restorer {
  return {
    async restore(bytes, log, signal) {
      const { files: place, control, version } = target;
      if (place === null) {
        const sentence = 'PostgreSQL in a container takes no base backup.';
        throw untouched(new ServiceError('ENGINE_NOT_AVAILABLE', sentence));
      }
      log('The files are unpacked beside the live ones.');
      await swapFolders({ places: [place], control, log }, async ([path = '']) => {
        const missing = new Set(needed);
        const check = (entry: ArchiveEntry): boolean => {
          missing.delete(entry.path);
          return isOfData(entry);
        };
        await unpackTar(bytes, { path, check, signal });
        if (missing.size > 0) throw unfit('This is no base backup of PostgreSQL.');
        const major = (await readFile(join(path, 'PG_VERSION'), 'utf8')).trim();
        if (major !== version.split('.')[0]) {
          throw unfit(`It is of PostgreSQL ${major}, and this server is ${version}.`);
        }
        await keepSettings(place, path);
      });
    },
  };
}

/** A link would lead to files of another place, as tablespaces do. */
function isOfData({ path, kind }: ArchiveEntry): boolean {
  if (kind === 'symlink' || kind === 'hardlink') throw unfit('A base backup has no links.');
  return !settings.includes(path);
}

async function keepSettings({ root, data }: OwnFolder, path: string): Promise<void> {
  await within(Folder.open(root), (above) =>
    within(above.folder(data), async (live) => {
      for (const name of settings) {
        const file = await live.file(name);
        try {
          const text = await readWhole(file, settingMaxBytes);
          if (text !== null) await writeFile(join(path, name), text, { mode: 0o600 });
        } finally {
          await file.close();
        }
      }
    }),
  );
}

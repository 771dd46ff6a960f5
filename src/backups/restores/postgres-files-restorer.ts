/**
 * Owns the way back of a base backup of PostgreSQL, with its server stopped.
 *
 * 1. Its settings are those of the live server: those of the backup could name programs to run.
 * 2. The files themselves are taken as they are, with their roles and functions. So only what this instance
 *    dumped itself may come here, which is for the caller to know by its hash.
 */
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import { Folder, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import { inBlocks } from '../tar/tar-tree.ts';
import type { OwnFolder, DatabaseTarget } from '../targets.ts';
import { unfit } from './failures.ts';
import { incomingAt, swapFolders } from './folder-swap.ts';
import { trialRules, trialRulesName, tryPostgres } from './postgres-trial.ts';
import { baseBackupTar, checkMajor } from './postgres-volume.ts';
import type { Restorer } from './restorer.ts';
import { unpackTar } from './tar-reading.ts';
import { tarSwapOf } from './tar-swap.ts';

/** The only volume of a database. */
const volumeName = 'data';
const settings = ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf', 'pg_ident.conf'];
const settingMaxBytes = 4 * 1024 * 1024;
/** Without these a server starts from a part, or not at all. */
const needed = ['PG_VERSION', 'global/pg_control', 'backup_label'];

export function postgresFilesRestorer(target: DatabaseTarget): Restorer {
  const { files: place, control, elsewhere, folder } = target;
  const data = tarSwapOf(target);
  return {
    async restore(bytes, log, signal) {
      log('The files are unpacked beside the live ones.');
      if (data !== null) {
        await data.run(log, async (write) => {
          const tar = baseBackupTar(target, { bytes, settings, needed, signal });
          await write(inBlocks(tar), signal);
          if (elsewhere !== null && folder !== null) {
            const rules = await elsewhere.write(trialRulesName, trialRules);
            await tryPostgres(target, { rules, path: incomingAt(folder) }, signal);
          }
          return new Set([volumeName]);
        });
      } else if (place !== null) {
        await swapFolders(
          { places: [place], control, log },
          ([path = '']) => unpack(target, place, { path, bytes, signal }),
          ([path = '']) => tryHere(target, place, path, signal),
        );
      }
    },
  };
}

async function tryHere(
  target: DatabaseTarget,
  { root }: OwnFolder,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const rules = join(root, trialRulesName);
  try {
    await writeFile(rules, trialRules);
    await chmod(rules, 0o644);
    await tryPostgres(target, { rules, path }, signal);
  } finally {
    await rm(rules, { force: true });
  }
}

async function unpack(
  { version }: DatabaseTarget,
  place: OwnFolder,
  given: { path: string; bytes: AsyncIterable<Uint8Array>; signal: AbortSignal },
): Promise<void> {
  const { path, bytes, signal } = given;
  const missing = new Set(needed);
  const check = (entry: ArchiveEntry): boolean => {
    missing.delete(entry.path);
    return isOfData(entry);
  };
  await unpackTar(bytes, { path, check, signal });
  if (missing.size > 0) throw unfit('This is no base backup of PostgreSQL.');
  checkMajor(await readFile(join(path, 'PG_VERSION'), 'utf8'), version);
  await keepSettings(place, path);
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

/**
 * Owns the way back of an RDB of Redis, as the base of its append-only file: a server that keeps one reads
 * nothing else when it starts. Its configuration, with the password, stays.
 */
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ServiceError } from '../../lib/errors.ts';
import { Folder, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import { isRdb } from '../sources/redis-source.ts';
import type { OwnFolder, DatabaseTarget } from '../targets.ts';
import { unfit, untouched } from './failures.ts';
import { firstBytes } from './first-bytes.ts';
import { swapFolders } from './folder-swap.ts';
import type { Restorer } from './restorer.ts';

const configName = 'redis.conf';
const configMaxBytes = 1024 * 1024;
const base = 'appendonly.aof.1.base.rdb';

export function redisRestorer(target: DatabaseTarget): Restorer {
  return {
    async restore(bytes, log, signal) {
      const { files: place, control, version } = target;
      if (place === null) {
        const sentence = 'Redis in a container cannot be given an RDB yet.';
        throw untouched(new ServiceError('ENGINE_NOT_AVAILABLE', sentence));
      }
      log('The data is received beside the live one.');
      await swapFolders({ places: [place], control, log }, async ([path = '']) => {
        const { first, whole } = await firstBytes(bytes, 5);
        if (!isRdb(first)) throw unfit('This is no RDB of Redis.');
        const config = await configOf(place);
        if (config !== null) await writeFile(join(path, configName), config, { mode: 0o600 });
        await writeAll(await rdbPlace(path, version), whole, signal);
      });
    },
  };
}

/** Where it is read from, by the version of the server. */
async function rdbPlace(path: string, version: string): Promise<string> {
  if (Number.parseInt(version, 10) < 7) return join(path, 'appendonly.aof');
  const folder = join(path, 'appendonlydir');
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, 'appendonly.aof.manifest'), `file ${base} seq 1 type b\n`);
  return join(folder, base);
}

async function configOf({ root, data }: OwnFolder): Promise<Buffer | null> {
  return within(Folder.open(root), (above) =>
    within(above.folder(data), async (folder) => {
      const file = await folder.file(configName);
      try {
        return await readWhole(file, configMaxBytes);
      } finally {
        await file.close();
      }
    }),
  );
}

async function writeAll(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of bytes) {
      signal.throwIfAborted();
      await file.writeFile(chunk);
    }
    signal.throwIfAborted();
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Owns the way back of an RDB of Redis, as the base of its append-only file: a server that keeps one reads
 * nothing else when it starts. Its configuration, with the password, stays, but that it keeps such a file.
 */
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Folder, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import { feed } from '../client-program.ts';
import { isRdb } from '../sources/redis-source.ts';
import { paddingOf, tarEnd, tarHeaders } from '../tar/tar-header.ts';
import { inBlocks, textEntry, zeros } from '../tar/tar-tree.ts';
import type { OwnFolder, DatabaseTarget } from '../targets.ts';
import { unfit } from './failures.ts';
import { firstBytes } from './first-bytes.ts';
import { swapFolders } from './folder-swap.ts';
import type { Restorer } from './restorer.ts';
import { tarSwapOf } from './tar-swap.ts';

const configName = 'redis.conf';
const configMaxBytes = 1024 * 1024;
/** Of the image. */
const imageFolder = '/data';
const volumeName = 'data';
const ownerAlone = 0o600;
const base = 'appendonly.aof.1.base.rdb';

/** `size`: of the RDB, in bytes. */
export function redisRestorer(target: DatabaseTarget, size: number): Restorer {
  return {
    async restore(bytes, log, signal) {
      const { files: place, control } = target;
      const data = tarSwapOf(target);
      log('The data is received beside the live one.');
      const rdb = async (): Promise<AsyncIterable<Uint8Array>> => {
        const { first, whole } = await firstBytes(bytes, 5);
        if (!isRdb(first)) throw unfit('This is no RDB of Redis.');
        return whole;
      };
      if (data !== null) {
        await data.run(log, async (write) => {
          await write(inBlocks(volumeTar(target, { whole: await rdb(), size, signal })), signal);
          return new Set([volumeName]);
        });
      } else if (place !== null) {
        await swapFolders({ places: [place], control, log }, async ([path = '']) => {
          await fillFolder(target, place, { path, whole: await rdb(), signal });
        });
      }
    },
  };
}

async function fillFolder(
  { version }: DatabaseTarget,
  place: OwnFolder,
  given: { path: string; whole: AsyncIterable<Uint8Array>; signal: AbortSignal },
): Promise<void> {
  const { path, whole, signal } = given;
  const config = await configOf(place);
  if (config !== null)
    await writeFile(join(path, configName), readingFile(config), { mode: 0o600 });
  const { rdb, manifest } = layoutOf(version);
  if (manifest !== null) {
    await mkdir(join(path, manifest.folder), { mode: 0o700 });
    await writeFile(join(path, manifest.file), manifest.text);
  }
  await writeAll(join(path, rdb), whole, signal);
}

/** The configuration is that of the live server; whoever makes the files gives all to the user of the server. */
async function* volumeTar(
  target: DatabaseTarget,
  given: { whole: AsyncIterable<Uint8Array>; size: number; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  const { whole, size, signal } = given;
  const command = ['cat', `${target.folder ?? imageFolder}/${configName}`];
  const config = await feed(target, { command, env: {} }, null, signal, configMaxBytes);
  const { rdb, manifest } = layoutOf(target.version);
  const inVolume = (path: string): string => `${volumeName}/${path}`;
  yield* textEntry(inVolume(configName), readingFile(config), ownerAlone);
  if (manifest !== null) yield* textEntry(inVolume(manifest.file), manifest.text, ownerAlone);
  yield tarHeaders({
    ...{ name: Buffer.from(inVolume(rdb)), type: 'file', size, mode: ownerAlone },
    ...{ mtimeMs: Date.now(), target: Buffer.alloc(0) },
  });
  let left = size;
  for await (const bytes of whole) {
    left -= bytes.length;
    yield bytes;
  }
  if (left !== 0) throw unfit('The RDB has another length than it was found to have.');
  yield* zeros(paddingOf(size));
  yield tarEnd;
}

/** One that keeps no such file would start empty. The last word counts. */
function readingFile(config: Buffer): Buffer {
  return Buffer.concat([config, Buffer.from('\nappendonly yes\n')]);
}

/** Where it is read from, by the version of the server. Paths are below its data. */
function layoutOf(version: string): { rdb: string; manifest: Manifest | null } {
  if (Number.parseInt(version, 10) < 7) return { rdb: 'appendonly.aof', manifest: null };
  const folder = 'appendonlydir';
  const file = `${folder}/appendonly.aof.manifest`;
  return {
    rdb: `${folder}/${base}`,
    manifest: { folder, file, text: `file ${base} seq 1 type b\n` },
  };
}

interface Manifest {
  folder: string;
  file: string;
  text: string;
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

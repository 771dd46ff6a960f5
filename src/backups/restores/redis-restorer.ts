/**
 * Owns the way back of an RDB of Redis. Its configuration, with the password, stays.
 *
 * 1. A server that keeps an append-only file reads nothing else when it starts, and runs what stands behind the RDB in it as
 *    commands, of which none is too dangerous. So it starts with the RDB alone, which ends where that says.
 * 2. Then it keeps such a file, whatever it was told before. It is well when that is whole.
 */
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { ServiceError } from '../../lib/errors.ts';
import { once } from '../../lib/once.ts';
import { Folder, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import { feed } from '../client-program.ts';
import { isRdb, redisClient } from '../sources/redis-source.ts';
import { paddingOf, tarEnd, tarHeaders } from '../tar/tar-header.ts';
import { inBlocks, textEntry, zeros } from '../tar/tar-tree.ts';
import type { DatabaseTarget, OwnFolder, ServerControl } from '../targets.ts';
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
const rdbName = 'dump.rdb';
/** The last word counts. */
const startsWithRdb = Buffer.from(`\nappendonly no\ndbfilename ${rdbName}\n`);
const [lookEveryMs, keptMs] = [200, 30 * 60_000];

/** `size`: of the RDB, in bytes. */
export function redisRestorer(given: DatabaseTarget, size: number): Restorer {
  const control: ServerControl = {
    stop: () => given.control.stop(),
    start: () => given.control.start(),
    replaced: async () => {
      await keepFile((await given.again?.()) ?? given);
      await given.control.replaced();
    },
  };
  const target = { ...given, control };
  return {
    async restore(bytes, log, signal) {
      const { files: place } = target;
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
          await fillFolder(place, { path, whole: await rdb(), signal });
        });
      }
    },
  };
}

async function fillFolder(
  place: OwnFolder,
  given: { path: string; whole: AsyncIterable<Uint8Array>; signal: AbortSignal },
): Promise<void> {
  const { path, whole, signal } = given;
  const kept = await configOf(place);
  if (kept === null) throw unfit('The configuration of this Redis is too large to be kept.');
  const config = Buffer.concat([kept, startsWithRdb]);
  await writeFile(join(path, configName), config, { mode: ownerAlone });
  await writeAll(join(path, rdbName), whole, signal);
}

/** The configuration is that of the live server; whoever makes the files gives all to the user of the server. */
async function* volumeTar(
  target: DatabaseTarget,
  given: { whole: AsyncIterable<Uint8Array>; size: number; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  const { whole, size, signal } = given;
  const command = ['cat', `${target.folder ?? imageFolder}/${configName}`];
  const config = await feed(target, { command, env: {} }, null, signal, configMaxBytes);
  const inVolume = (path: string): string => `${volumeName}/${path}`;
  yield* textEntry(inVolume(configName), Buffer.concat([config, startsWithRdb]), ownerAlone);
  yield tarHeaders({
    ...{ name: Buffer.from(inVolume(rdbName)), type: 'file', size, mode: ownerAlone },
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

/** From now on it reads an append-only file when it starts. */
async function keepFile(target: DatabaseTarget): Promise<void> {
  const spec = await redisClient(target, []);
  const late = AbortSignal.timeout(keptMs);
  const ask = async (line: string): Promise<string> =>
    (await feed(target, spec, once(Buffer.from(`${line}\n`)), late)).toString().trim();
  const tell = async (line: string): Promise<void> => {
    const said = await ask(line);
    if (said !== 'OK') throw notKept(said);
  };
  await tell('CONFIG SET appendonly yes');
  for (;;) {
    const info = await ask('INFO persistence');
    if (/^aof_last_bgrewrite_status:(?!ok)/m.test(info)) throw notKept('It could not be written.');
    if (!/^aof_rewrite_(in_progress|scheduled):1/m.test(info)) break;
    await setTimeout(lookEveryMs, undefined, { signal: late });
  }
  await tell('CONFIG REWRITE');
}

function notKept(said: string): ServiceError {
  return new ServiceError('RESTORE_FAILED', `Redis does not keep its data: ${said}`);
}

/** Null: it is too large. */
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

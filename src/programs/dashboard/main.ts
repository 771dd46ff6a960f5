/**
 * Entry point of the program that builds the dashboard: `node main.ts <digest> <folder>` for a service, and
 * `node main.ts ship` for what is shipped, compressed as small as can be.
 *
 * 1. The folder is there whole or not at all: it is written aside and renamed.
 * 2. Of several that build the same at once one works; the others wait for it and take what it made.
 * 3. A failure is told on standard error, in words for people, and by the exit code 1.
 */
import { access } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { shippedFolder, sourceDigest } from '../../lib/dashboard-source.ts';
import { manifestName } from '../../protocol/dashboard-build.ts';
import { build } from './build.ts';

/** Whoever listens here builds it. The name is of Linux alone, and goes with the process. */
async function turnFor(folder: string): Promise<Server | null> {
  const name = `\0gangway-dashboard ${folder}`;
  const server = createServer((socket) => socket.on('error', () => undefined));
  return await new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') reject(error);
      else resolve(endOf(name).then(() => null));
    });
    server.listen(name, () => resolve(server));
  });
}

/** Resolves when nobody listens there any more. */
function endOf(name: string): Promise<void> {
  return new Promise((resolve) => {
    connect(name)
      .on('error', () => undefined)
      .on('close', () => resolve())
      .resume();
  });
}

async function main([digest, folder]: readonly string[]): Promise<void> {
  if (digest === 'ship') {
    await build({ digest: await sourceDigest(), folder: shippedFolder, best: true });
    return;
  }
  if (digest === undefined || folder === undefined) throw new Error('Usage: <digest> <folder>');
  for (;;) {
    const turn = await turnFor(folder);
    if (await isBuilt(folder)) return;
    if (turn !== null) {
      await build({ digest, folder, best: false });
      return;
    }
  }
}

const isBuilt = (folder: string): Promise<boolean> =>
  access(join(folder, manifestName)).then(
    () => true,
    () => false,
  );

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

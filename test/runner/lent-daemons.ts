/**
 * Owns the Docker daemons that the files of one run share: one with a swarm, one without. Daemons of a
 * file's own begin with the same images.
 *
 * 1. They are the run's own, started when a file first asks, and end with it.
 * 2. A file that runs alone is lent none; it starts its own.
 */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { folderOf } from './sweep.ts';

export type DaemonKind = 'docker' | 'swarm';
/** Also a folder: see `takeImages`. */
type Lent = DaemonKind | 'images';

/** Names the socket at which they are asked for. */
const variable = 'GANGWAY_TESTS_DAEMONS';

/** For the run: from here on the processes that it starts are lent daemons. */
export async function lendDaemons(): Promise<{ close(): Promise<void> }> {
  // Swept with all that is in it where the run is killed.
  const folder = folderOf(process.pid, process.pid);
  fs.mkdirSync(folder);
  const images = path.join(folder, 'images');
  const docker = once(() => startDocker(folder, images));
  const swarm = once(() => docker.get().then(() => startSwarm(folder, images)));
  const answers: Record<Lent, () => Promise<string>> = {
    docker: async () => (await docker.get()).socket,
    swarm: async () => (await swarm.get()).socket,
    images: () => docker.get().then(() => images),
  };
  const server = http.createServer((request, response) => {
    answers[(request.url ?? '').slice(1) as Lent]().then(
      (answer) => response.end(answer),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const address = path.join(folder, 'daemons.sock');
  await new Promise<void>((resolve) => server.listen(address, resolve));
  process.env[variable] = address;
  return {
    async close() {
      Reflect.deleteProperty(process.env, variable);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.allSettled([docker, swarm].map(async (one) => (await one.begun())?.close()));
      fs.rmSync(folder, { recursive: true });
    },
  };
}

interface Once<T> {
  get(): Promise<T>;
  /** What was made; undefined when nobody asked. */
  begun(): Promise<T> | undefined;
}

/** What failed is made again for who asks next. */
function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined;
  const making = (): Promise<T> =>
    make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
  return { get: () => (made ??= making()), begun: () => made };
}

async function startDocker(home: string, images: string): Promise<DockerDaemon> {
  // Few runs need them.
  const { ownDaemon, takeImages } = await import('../support/docker-daemon.ts');
  const { importImages } = await import('../support/docker-images.ts');
  const daemon = await ownDaemon({ home, images: null });
  return await prepared(daemon, async () => {
    await importImages(daemon.socket);
    takeImages(daemon, images);
  });
}

async function startSwarm(home: string, images: string): Promise<DockerDaemon> {
  const { ownDaemon } = await import('../support/docker-daemon.ts');
  const { beSwarm } = await import('../support/swarm.ts');
  const daemon = await ownDaemon({ home, images });
  return await prepared(daemon, () => beSwarm(daemon.socket));
}

async function prepared(
  daemon: DockerDaemon,
  prepare: () => Promise<unknown>,
): Promise<DockerDaemon> {
  try {
    await prepare();
    return daemon;
  } catch (error) {
    await daemon.close();
    throw error;
  }
}

/** For a file: the socket of a daemon, or the folder of its images; undefined outside a run that lends any. */
export function lent(what: Lent): Promise<string | undefined> {
  const socketPath = process.env[variable];
  if (socketPath === undefined) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const asking = http.get({ socketPath, path: `/${what}` }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      response.once('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(text));
      });
    });
    asking.once('error', reject);
  });
}

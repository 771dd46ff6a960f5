/**
 * Owns the Docker daemons that the files of one run share: one with a swarm, one without.
 *
 * 1. The run lends them: they are its own, started when a file first asks, and end with it.
 * 2. A file that runs alone is lent none; it starts its own.
 * 3. Who kills, stops or freezes a daemon is never given one of these.
 */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

import { ownDaemon } from './docker-daemon.ts';
import type { DockerDaemon } from './docker-daemon.ts';
import { importImages } from './docker-images.ts';
import { tempDir } from './runner.ts';
import { beSwarm } from './swarm.ts';

export type DaemonKind = 'docker' | 'swarm';

const variable = 'GANGWAY_TESTS_DAEMONS';

/** For the run: from here on the processes that it starts are lent daemons. */
export async function lendDaemons(): Promise<{ close(): Promise<void> }> {
  const started = new Map<DaemonKind, Promise<DockerDaemon>>();
  const startOnce = (kind: DaemonKind): Promise<DockerDaemon> => {
    const daemon = started.get(kind) ?? start(kind);
    started.set(kind, daemon);
    return daemon;
  };
  const server = http.createServer((request, response) => {
    startOnce(request.url === '/swarm' ? 'swarm' : 'docker').then(
      ({ socket }) => response.end(socket),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const folder = tempDir();
  const address = path.join(folder, 'daemons.sock');
  await new Promise<void>((resolve) => server.listen(address, resolve));
  process.env[variable] = address;
  return {
    async close() {
      Reflect.deleteProperty(process.env, variable);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      const daemons = await Promise.allSettled(started.values());
      for (const one of daemons) if (one.status === 'fulfilled') await one.value.close();
      fs.rmSync(folder, { recursive: true });
    },
  };
}

async function start(kind: DaemonKind): Promise<DockerDaemon> {
  const daemon = await ownDaemon();
  await importImages(daemon.socket);
  if (kind === 'swarm') await beSwarm(daemon.socket);
  return daemon;
}

/** The one that the environment names, or that the run lends, or else one for the asker alone. */
export async function dockerDaemon(kind: DaemonKind = 'docker'): Promise<DockerDaemon> {
  const socket = process.env['GANGWAY_TEST_DOCKER_SOCKET'] ?? (await lentSocket(kind));
  if (socket === undefined) return await ownDaemon();
  const never = (): Promise<never> => Promise.reject(new Error('This daemon is shared'));
  return {
    socket,
    isShared: true,
    restart: never,
    stop: never,
    start: never,
    whileFrozen: never,
    close: () => Promise.resolve(),
  };
}

/** Undefined outside a run that lends any. */
function lentSocket(kind: DaemonKind): Promise<string | undefined> {
  const socketPath = process.env[variable];
  if (socketPath === undefined) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const asking = http.get({ socketPath, path: `/${kind}` }, (response) => {
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

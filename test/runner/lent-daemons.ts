/**
 * Owns the Docker daemons that the files of one run share: one with a swarm, one without.
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

/** Names the socket at which they are asked for. */
export const lendingVariable = 'GANGWAY_TESTS_DAEMONS';

/** For the run: from here on the processes that it starts are lent daemons. */
export async function lendDaemons(): Promise<{ close(): Promise<void> }> {
  // Swept with all that is in it where the run is killed.
  const folder = folderOf(process.pid, process.pid);
  fs.mkdirSync(folder);
  const started = new Map<DaemonKind, Promise<DockerDaemon>>();
  const startOnce = (kind: DaemonKind): Promise<DockerDaemon> => {
    const daemon = started.get(kind) ?? start(kind, folder);
    started.set(kind, daemon);
    return daemon;
  };
  const server = http.createServer((request, response) => {
    startOnce(request.url === '/swarm' ? 'swarm' : 'docker').then(
      ({ socket }) => response.end(socket),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const address = path.join(folder, 'daemons.sock');
  await new Promise<void>((resolve) => server.listen(address, resolve));
  process.env[lendingVariable] = address;
  return {
    async close() {
      Reflect.deleteProperty(process.env, lendingVariable);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      const daemons = await Promise.allSettled(started.values());
      for (const one of daemons) if (one.status === 'fulfilled') await one.value.close();
      fs.rmSync(folder, { recursive: true });
    },
  };
}

async function start(kind: DaemonKind, home: string): Promise<DockerDaemon> {
  // Few runs need them.
  const { ownDaemon } = await import('../support/docker-daemon.ts');
  const { importImages } = await import('../support/docker-images.ts');
  const { beSwarm } = await import('../support/swarm.ts');
  const daemon = await ownDaemon({ home });
  await importImages(daemon.socket);
  if (kind === 'swarm') await beSwarm(daemon.socket);
  return daemon;
}

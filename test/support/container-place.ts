/** A whole Gangway over a Docker daemon of the tests, and small apps that are made for containers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import type { DockerDaemon } from './docker-daemon.ts';
import { importImages, nodeImage } from './docker-images.ts';
import { Gangway } from './gangway.ts';
import { dockerDaemon } from './shared-daemons.ts';

export interface ContainerPlace {
  daemon: DockerDaemon;
  docker: Docker;
  gangway: Gangway;
  /** Containers of this Gangway, running or not. */
  containers(): Promise<Docker.ContainerInfo[]>;
  close(): Promise<void>;
}

/** `given`: a daemon that is the asker's own; `nodeArgs`: further ones of node. */
export async function containerPlace(
  env: Record<string, string> = {},
  given?: DockerDaemon,
  nodeArgs: readonly string[] = [],
): Promise<ContainerPlace> {
  const daemon = given ?? (await dockerDaemon());
  await importImages(daemon.socket);
  const docker = new Docker({ socketPath: daemon.socket });
  const gangway = await Gangway.open({
    nodeArgs,
    env: {
      GANGWAY_RUNTIME: 'auto',
      GANGWAY_DOCKER_SOCKET: daemon.socket,
      GANGWAY_NODE_IMAGE: nodeImage,
      ...env,
    },
  });
  const containers = () => docker.listContainers({ all: true, filters: labelOf(gangway) });
  return {
    daemon,
    docker,
    gangway,
    containers,
    async close() {
      await gangway.stop();
      // On a daemon that is shared nothing may stay; one of its own takes all along.
      if (daemon.isShared) await removeAllOf(gangway, docker);
      await gangway.end();
      await daemon.close();
    },
  };
}

function labelOf({ dataDir }: Gangway): { label: string[] } {
  const instance = readFileSync(join(dataDir, 'docker', 'instance'), 'utf8').trim();
  return { label: [`gangway.instance=${instance}`] };
}

/** Of a Gangway that was stopped. What cannot be removed yet runs no more, and goes with the daemon. */
export async function removeAllOf(gangway: Gangway, docker: Docker): Promise<void> {
  const filters = labelOf(gangway);
  const busy = (): undefined => undefined;
  const containers = await docker.listContainers({ all: true, filters });
  const remove = (id: string): Promise<unknown> =>
    docker.getContainer(id).remove({ force: true, v: true });
  await Promise.all(containers.map(({ Id }) => remove(Id).catch(busy)));
  const { Volumes } = await docker.listVolumes({ filters });
  for (const { Name } of Volumes) await docker.getVolume(Name).remove().catch(busy);
  for (const { Id } of await docker.listNetworks({ filters })) {
    await docker.getNetwork(Id).remove().catch(busy);
  }
}

/**
 * Answers with the name of its release; at `/visits` with how often that was asked, kept in its data; at
 * `/env` with its variables; at `/ask?<url>` with what is answered there; `/die` ends it.
 */
const server = `
  const { readFileSync, writeFileSync } = require('node:fs');
  const http = require('node:http');
  const file = process.env.APP_DATA_DIR + '/visits';
  const visit = () => {
    let visits = 0;
    try { visits = Number(readFileSync(file, 'utf8')); } catch {}
    writeFileSync(file, String(visits + 1));
    return String(visits + 1);
  };
  http.createServer((request, response) => {
    if (request.url === '/visits') response.end(visit());
    else if (request.url === '/die') process.exit(3);
    else if (request.url === '/env') response.end(JSON.stringify(process.env));
    else if (request.url.startsWith('/ask?')) {
      const asking = http.get(request.url.slice(5), (answer) => answer.pipe(response));
      asking.on('error', (error) => response.end(error.message));
    } else response.end('RELEASE');
  }).listen(process.env.PORT, () => console.log('listens on ' + process.env.PORT));
  let line = 0;
  if (process.env.COUNT_MS) setInterval(() => console.log('line ' + (line += 1)), Number(process.env.COUNT_MS));
`;

/** Its program, in CommonJS. */
export function serverOf(release: string): string {
  return server.replace('RELEASE', release);
}

/** The lines behind FROM. */
export function dockerfileOf(...lines: string[]): string {
  return [`FROM ${nodeImage}`, ...lines, ''].join('\n');
}

/** An app with a Dockerfile, which exposes 3000 unless it is told otherwise. */
export function appOf(release: string, ...lines: string[]): Record<string, string> {
  const more = lines.length === 0 ? ['EXPOSE 3000'] : lines;
  return {
    Dockerfile: dockerfileOf('COPY server.js /', ...more, 'CMD ["node", "/server.js"]'),
    'server.js': serverOf(release),
  };
}

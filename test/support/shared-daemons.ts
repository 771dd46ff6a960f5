/**
 * Owns where a test file gets a Docker daemon from. One that it kills, stops or freezes has to be its
 * own: `ownDaemon`.
 */
import http from 'node:http';

import { lendingVariable } from '../runner/lent-daemons.ts';
import type { DaemonKind } from '../runner/lent-daemons.ts';
import { ownDaemon } from './docker-daemon.ts';
import type { DockerDaemon } from './docker-daemon.ts';

export type { DaemonKind };

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
  const socketPath = process.env[lendingVariable];
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

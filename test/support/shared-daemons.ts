/**
 * Owns where a test file gets a Docker daemon from. One that it kills, stops or freezes has to be its
 * own: `ownDaemon`.
 */
import { lent } from '../runner/lent-daemons.ts';
import type { DaemonKind } from '../runner/lent-daemons.ts';
import { ownDaemon } from './docker-daemon.ts';
import type { DockerDaemon } from './docker-daemon.ts';

export type { DaemonKind };

/** The one that the environment names, or that the run lends, or else one for the asker alone. */
export async function dockerDaemon(kind: DaemonKind = 'docker'): Promise<DockerDaemon> {
  const socket = process.env['GANGWAY_TEST_DOCKER_SOCKET'] ?? (await lent(kind));
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

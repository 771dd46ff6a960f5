/** Owns a machine for tests: this one, in a folder, with tools that a test says. */
import {
  connectHere,
  localMachine,
  type LocalMachineOptions,
} from '../../src/places/local-place.ts';
import type { Machine, MachineTools } from '../../src/places/place.ts';
import type { Server } from '../../src/actors/database/engines/engine.ts';

/** A machine that has nothing but PostgreSQL. */
export const scriptedTools: MachineTools = {
  path: ['/usr/bin', '/bin'],
  find: () => Promise.resolve(null),
  ask: () => Promise.resolve(null),
  ownPostgres: () => Promise.resolve({ bin: '/pg/bin', version: '18.4' }),
  packagedPostgres: () => Promise.resolve([]),
  sqlPrompt: () => Promise.resolve({ node: '/node', program: '/prompt.js' }),
};

export function testMachine(appsRoot: string, options: Partial<LocalMachineOptions> = {}): Machine {
  return localMachine({
    appsRoot,
    uids: null,
    namedUid: null,
    toolchain: {
      path: ['/usr/bin', '/bin'],
      node: 'node',
      staticServer: 's',
      nodeVersion: '22.1.0',
    },
    buildEnv: {},
    tools: scriptedTools,
    extractor: { extract: () => Promise.reject(new Error('nothing is extracted here')) },
    ...options,
  });
}

/** How a server of this machine is connected to. */
export const connectToServer: Server['connect'] = (to, signal) =>
  connectHere({ workload: 'server', ...to }, signal);

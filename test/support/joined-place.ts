/** Owns a place on another server for a test, whose agent is in this process. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { inlineExtractor } from '../../src/places/inline-extractor.ts';
import type { LocalMachineOptions } from '../../src/places/local-place.ts';
import { remotePlace } from '../../src/places/remote-place.ts';
import { servedPlace } from '../../src/places/served-place.ts';
import { placeCalls } from '../../src/protocol/agent-place.ts';
import { joinedLink } from './agent-link.ts';
import { testMachine } from './machine.ts';
import { noLog } from './runner.ts';
import { ScriptedDriver } from './scripted-driver.ts';

export const otherServerId = 'srv_other';

export async function joinedPlace(t: TestContext, options: Partial<LocalMachineOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'gangway-remote-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [appsRoot, incoming] = [join(folder, 'apps'), join(folder, 'incoming')];
  mkdirSync(appsRoot, { mode: 0o711 });
  let machines = 0;
  const machine = testMachine(appsRoot, {
    extractor: inlineExtractor,
    toolchain: { path: ['/t/bin'], node: '/t/n', staticServer: '/t/s', nodeVersion: '22.1.0' },
    ...options,
  });
  const listens = (workload: string): Promise<boolean> => Promise.resolve(workload !== 'gone-1');
  const services = servedPlace({ appsRoot, machine, incoming, logger: noLog, listens });
  const asked = services.calls[placeCalls.machine];
  const calls = {
    ...services.calls,
    [placeCalls.machine]: (message: unknown, signal: AbortSignal) => {
      machines += 1;
      return asked?.(message, signal) ?? Promise.reject(new Error('there is none'));
    },
  };
  const link = joinedLink(otherServerId, { ...services, calls });
  const place = remotePlace({ link, driver: new ScriptedDriver() });
  const archive = (files: Record<string, string>) => {
    const source = join(folder, 'source');
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(source, name, '..'), { recursive: true });
      writeFileSync(join(source, name), text);
    }
    const path = join(folder, 'source.tgz');
    execFileSync('tar', ['-czf', path, '-C', source, '.']);
    return { path, format: 'tar.gz', keepsSoleFolder: false } as const;
  };
  return { folder, appsRoot, incoming, link, place, archive, machines: () => machines };
}

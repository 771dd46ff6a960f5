import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { LayerState } from '../../../../../src/protocol/isolation.ts';
import { needs, programPath } from '../../../../support/programs.ts';

const module = fileURLToPath(
  new URL('../../../../../src/programs/runner/isolation/isolation.ts', import.meta.url),
);
const program = `
  const { Isolation } = await import(${JSON.stringify(module)});
  const { states } = await Isolation.open({
    dataDir: '/', without: [], hasGroups: true, isRoot: true,
    openNetworks: () => Promise.resolve({ missing: 'none' }),
  });
  console.log(JSON.stringify(states));`;

const unshare = programPath('unshare') ?? 'unshare';
const own = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--mount-proc'];

/** As root of a user namespace of its own, in which `setting` was made before. */
function statesAfter(setting: string): LayerState[] {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module'];
  const script = ['/bin/sh', '-c', `${setting} && exec "$@"`, 'sh', ...node, '-e', program];
  const said = execFileSync(unshare, [...own, ...script]);
  return JSON.parse(said.toString()) as LayerState[];
}

const nothing = 'network: none';
const skip =
  needs('unshare', 'mount') ||
  (spawnSync(unshare, [...own, 'true']).status !== 0 && 'needs user namespaces');

describe('layers that are tried', { skip }, () => {
  const missingAfter = (setting: string): string[] =>
    statesAfter(setting).flatMap(({ layer, missing }) =>
      missing === null ? [] : [`${layer}: ${missing}`],
    );

  it('all hold where none is refused', () => {
    assert.deepEqual(missingAfter('true'), [nothing]);
  });

  it('are told apart where one is refused', () => {
    assert.deepEqual(missingAfter('echo 0 > /proc/sys/user/max_ipc_namespaces'), [
      'ipc: The system refuses it: setpriv: unshare: unshare failed: No space left on device.',
      nothing,
    ]);
  });
});

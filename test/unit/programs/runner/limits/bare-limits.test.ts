import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';

import { openBareLimits } from '../../../../../src/programs/runner/limits/limits.ts';
import { confined } from '../../../../../src/programs/runner/limits/launch.ts';
import { usageOf } from '../../../../../src/programs/runner/limits/limits.ts';
import { until } from '../../../../support/driver-specs.ts';
import { needs } from '../../../../support/programs.ts';

const none = { memoryMb: null, cpus: null, pids: null, replicas: 1 };
const skip = needs('prlimit');

describe('openBareLimits()', { skip }, () => {
  it('says what it cannot do', () => {
    assert.deepEqual(openBareLimits(true).missing, ['cpus']);
    assert.deepEqual(openBareLimits(false).missing, ['cpus', 'pids']);
  });

  it('confines nothing where nothing was asked for and nobody counts', () => {
    assert.equal(openBareLimits(false).confinementOf('dep-1', none).place, null);
  });

  it('sets limits that the program runs with', () => {
    const resources = { ...none, memoryMb: 64, pids: 50 };
    const { place } = openBareLimits(true).confinementOf('dep-1', resources);
    const look = ['/bin/cat', '/proc/self/limits'];
    const start = { command: look, workingDir: '/', env: {}, uid: null };
    const { command, env } = confined(start, place);
    const [program = '', ...args] = command;
    const { stdout } = spawnSync(program, args, { env: { ...env }, encoding: 'utf8' });
    assert.match(stdout, /Max data size +67108864 +67108864/);
    assert.match(stdout, /Max processes +50 +50/);
  });
});

describe('usageOf()', () => {
  it('adds up processes by /proc, and those that are gone count nothing', async () => {
    const child = spawn('/bin/sh', ['-c', 'while :; do :; done']);
    try {
      const { pid = 0 } = child;
      await until('some work', () => usageOf([pid]).cpuNs > 20_000_000);
      const both = usageOf([pid, process.pid, 2 ** 22 + 1]);
      assert.ok(both.cpuNs > usageOf([process.pid]).cpuNs);
      assert.ok(both.memoryBytes > 1_000_000);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

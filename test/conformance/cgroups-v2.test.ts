/**
 * Control groups of version 2 as a kernel has them: one of its own, User Mode Linux, since a machine may
 * have the controllers on version 1.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { mayNotSkip, needs, programPath } from '../support/programs.ts';
import { tempDir } from '../support/runner.ts';

const kernel = programPath('linux.uml') ?? 'linux.uml';
const bootMs = 240_000;
const guest = path.resolve(import.meta.dirname, '../support/cgroups-v2-guest.ts');

const booted = 'the kernel runs';
const init = (program: string): string => `#!/bin/sh
echo ${booted}
export PATH=/usr/bin:/bin:/usr/sbin:/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 none /sys/fs/cgroup
${program}
echo o > /proc/sysrq-trigger
sleep 60
`;

interface Seen {
  what: string;
  kind?: string;
  missing?: string[];
  group?: string;
  files?: Record<string, string>;
  own: string;
  [more: string]: unknown;
}

const nothing: Seen = { what: 'nothing', own: '' };

/** Boots it with the file system of this machine, to read only. */
function boot(dir: string): Promise<string> {
  const file = path.join(dir, 'init');
  fs.writeFileSync(file, init(`'${process.execPath}' --no-warnings '${guest}'`), { mode: 0o755 });
  const args = [
    ...['mem=400M', 'root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'ro', 'quiet'],
    ...['con=null', 'con0=null,fd:1', `init=${file}`, `uml_dir=${dir}/`],
  ];
  return new Promise((resolve) => {
    const options = { timeout: bootMs, killSignal: 'SIGKILL', env: { TMPDIR: dir } } as const;
    const child = execFile(kernel, args, options, (error, stdout, stderr) => {
      const ended = error === null ? '' : `\n${error.signal ?? String(error.code)}`;
      resolve(`${stdout}${stderr}${ended}`);
    });
    child.stdin?.end();
  });
}

const limitsOf = { 'memory.max': '33554432', 'cpu.max': '50000 100000', 'pids.max': '10' };
const skip = needs('linux.uml');

describe('control groups of version 2', { skip }, () => {
  let dir: string;
  let runs = false;
  let seen: Map<string, Seen>;
  before(async () => {
    dir = tempDir();
    const said = await boot(dir);
    runs = said.includes(booted);
    if (!runs && mayNotSkip()) throw new Error(`Cannot boot User Mode Linux: ${said.trim()}`);
    const lines = said.split('\n').filter((line) => line.startsWith('{"what"'));
    seen = new Map(lines.map((line) => JSON.parse(line) as Seen).map((one) => [one.what, one]));
  });
  after(() => {
    fs.rmSync(dir, { recursive: true });
  });

  /** As a test, where the machine lets that kernel run at all. */
  const holds = (what: string, check: () => void): void => {
    it(what, (t) => {
      if (runs) check();
      else t.skip('needs a machine where User Mode Linux runs');
    });
  };
  const assertWhole = (what: string, group: string, own: string): void => {
    const { kind, missing, ...rest } = seen.get(what) ?? nothing;
    assert.deepEqual([kind, missing], ['cgroup-v2', []]);
    assert.deepEqual([rest.group, rest.own], [`/sys/fs/cgroup/${group}`, own]);
    assert.deepEqual(rest.files, { ...limitsOf, 'cgroup.type': 'domain' });
  };

  holds('are made at the top by root, and hold', () => {
    assertWhole('root', 'gangway-i/w-dep-1', '0::/');
    const { within, oomKills, before: inside, cpuNs, closed } = seen.get('root') ?? nothing;
    assert.equal(within, '0::/gangway-i/w-dep-1');
    assert.deepEqual([oomKills, inside, closed], [1, 2, true]);
    assert.ok(Number(cpuNs) > 0);
    const { team } = seen.get('root') ?? nothing;
    assert.deepEqual(team, ['0::/gangway-i/t-team_a/w-dep-2', true, true]);
  });

  holds('are made in a unit whose processes are moved out of the way', () => {
    assertWhole('unit', 'unit/gangway-i/w-dep-1', '0::/unit/gangway-self');
  });

  holds('are made in a container that sees its part alone', () => {
    assertWhole('container', 'box/gangway-i/w-dep-1', '0::/box/gangway-self');
  });

  holds('are not made where processes of others are', () => {
    const { kind, own } = seen.get('shared') ?? nothing;
    assert.deepEqual([kind, own], [undefined, '0::/shared']);
  });
});

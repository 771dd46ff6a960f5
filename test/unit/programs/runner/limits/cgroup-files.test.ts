import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  findFlat,
  parseMounts,
  parseNumber,
  parseOwnV2,
  parsePids,
  placeIn,
} from '../../../../../src/programs/runner/limits/cgroup-files.ts';
import { parsePrivate, parseTicks } from '../../../../../src/programs/runner/limits/limits.ts';

const hybrid = `23 28 0:21 / /sys rw,nosuid - sysfs sysfs rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids ro,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;
const unified = `29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
60 22 0:40 / /mnt/a\\040b rw - cgroup2 cgroup2 rw
`;

describe('parseMounts()', () => {
  it('finds the controllers of version 1, also two at one place, but none that is read-only', () => {
    const { v1, v2 } = parseMounts(hybrid);
    assert.deepEqual(
      [...v1],
      [
        ['cpu', '/sys/fs/cgroup/cpu,cpuacct'],
        ['cpuacct', '/sys/fs/cgroup/cpu,cpuacct'],
        ['memory', '/sys/fs/cgroup/memory'],
      ],
    );
    assert.deepEqual(v2, { dir: '/sys/fs/cgroup/unified', root: '/' });
  });

  it('takes the first mount of version 2', () => {
    const whole = { dir: '/sys/fs/cgroup', root: '/' };
    assert.deepEqual(parseMounts(unified), { v1: new Map(), v2: whole });
    assert.equal(parseMounts(unified.split('\n')[1] ?? '').v2?.dir, '/mnt/a b');
  });

  it('finds nothing where there is nothing', () => {
    assert.deepEqual(parseMounts(''), { v1: new Map(), v2: undefined });
  });
});

describe('placeIn()', () => {
  const dir = '/sys/fs/cgroup';

  it('finds a group below a mount of the whole tree, or of a part of it', () => {
    assert.equal(placeIn({ dir, root: '/' }, '/a.slice/b'), `${dir}/a.slice/b`);
    assert.equal(placeIn({ dir, root: '/' }, '/'), dir);
    assert.equal(placeIn({ dir, root: '/docker/abc' }, '/docker/abc/in'), `${dir}/in`);
    assert.equal(placeIn({ dir, root: '/docker/abc' }, '/docker/abc'), dir);
  });

  it('finds none that is not seen there', () => {
    assert.equal(placeIn({ dir, root: '/' }, '/../outside'), undefined);
    assert.equal(placeIn({ dir, root: '/docker/abc' }, '/docker/abcd'), undefined);
    assert.equal(placeIn({ dir, root: '/docker/abc' }, '/'), undefined);
  });
});

describe('files of control groups', () => {
  it('parseOwnV2() finds the path in the one tree', () => {
    assert.equal(parseOwnV2('8:pids:/x\n0::/system.slice/g.service\n'), '/system.slice/g.service');
    assert.equal(parseOwnV2('8:pids:/x\n'), undefined);
  });

  it('parseNumber() knows that max is no number', () => {
    assert.equal(parseNumber('4096\n'), 4096);
    assert.equal(parseNumber('max\n'), undefined);
    assert.equal(parseNumber(''), undefined);
  });

  it('findFlat() reads one counter by its whole name', () => {
    const events = 'low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n';
    assert.equal(findFlat(events, 'oom_kill'), 1);
    assert.equal(findFlat('oom_kill_disable 0\nunder_oom 0\noom_kill 3\n', 'oom_kill'), 3);
    assert.equal(findFlat(events, 'oom_group_kill'), 0);
    assert.equal(findFlat(events, 'kill'), undefined);
    assert.equal(findFlat('', 'oom'), undefined);
    assert.equal(findFlat('inactive_file 1\ntotal_inactive_file 2', 'inactive_file'), 1);
    assert.equal(findFlat('usage_usec 1234\nuser_usec 1000\n', 'usage_usec'), 1234);
  });

  it('parsePids() leaves out processes of other namespaces', () => {
    assert.deepEqual(parsePids('12\n0\n4711\n'), [12, 4711]);
    assert.deepEqual(parsePids(''), []);
  });

  it('parseTicks() reads behind a name that holds anything', () => {
    const stat = '77 (a) b (c)) S 1 77 77 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 500 0 0';
    assert.equal(parseTicks(stat), 110);
  });

  it('parsePrivate() leaves out what is in files', () => {
    const status =
      'Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t  300 kB\nRssFile:\t 599 kB\nRssShmem:\t 1 kB\n';
    assert.equal(parsePrivate(status), 301 * 1024);
    assert.equal(parsePrivate('Name:\tkthread\n'), 0);
  });
});

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { openCgroups } from '../../../../../src/programs/runner/limits/cgroups.ts';
import { eventually } from '../../../../support/eventually.ts';
import { noLog } from '../../../../support/runner.ts';

const resources = { memoryMb: 256, cpus: 0.5, pids: 64, replicas: 1 };

/** A tree of plain files in the form of the kernel's; what is written can be read again. */
describe('openCgroups()', () => {
  let root: string;
  beforeEach(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-cgroups-'));
  });
  afterEach(() => {
    fs.rmSync(root, { recursive: true });
  });

  const write = (files: Record<string, string>): void => {
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      fs.writeFileSync(path.join(root, name), text);
    }
  };
  const read = (name: string): string => fs.readFileSync(path.join(root, name), 'utf8');
  const v2Host = (isRoot: boolean, own: string) => ({
    mountinfo: `29 22 0:26 / ${root} rw - cgroup2 cgroup2 rw\n`,
    selfCgroup: `0::${own}\n`,
    isRoot,
  });
  const v1Host = () => ({
    mountinfo: ['memory', 'cpu', 'cpuacct', 'pids']
      .map(
        (name, index) => `${String(index)} 1 0:1 / ${root}/${name} rw - cgroup cgroup rw,${name}`,
      )
      .join('\n'),
    selfCgroup: '8:pids:/elsewhere\n',
    isRoot: true,
  });
  /** What the kernel would have made of a folder on version 2, all controllers handed down. */
  const offering = (
    dir: string,
    handed = 'memory cpu pids',
    offered = 'cpuset cpu io memory pids\n',
  ): Record<string, string> => ({
    [path.join(dir, 'cgroup.controllers')]: offered,
    [path.join(dir, 'cgroup.subtree_control')]: handed,
    [path.join(dir, 'cgroup.procs')]: '',
  });

  it('limits a workload on version 2 before anything joins', () => {
    write({ ...offering('.'), ...offering('gangway-i') });
    const limits = openCgroups(v2Host(true, '/user.slice'), 'i', noLog);
    assert.equal(limits?.kind, 'cgroup-v2');
    assert.deepEqual(limits.missing, []);
    const group = limits.confinementOf('dep-1', resources);
    group.open();
    assert.equal(read('gangway-i/w-dep-1/memory.max'), String(256 * 2 ** 20));
    assert.equal(read('gangway-i/w-dep-1/memory.swap.max'), '0');
    assert.equal(read('gangway-i/w-dep-1/cpu.max'), '50000 100000');
    assert.equal(read('gangway-i/w-dep-1/pids.max'), '64');
    assert.deepEqual(group.place?.join, [path.join(root, 'gangway-i/w-dep-1/cgroup.procs')]);
  });

  it('has a group for programs until they join that of their workload', () => {
    write({ ...offering('.'), ...offering('gangway-i') });
    const limits = openCgroups(v2Host(true, '/'), 'i', noLog);
    const launching = path.join(root, 'gangway-i/launching');
    const { place } = limits?.confinementOf('dep-1', resources) ?? {};
    assert.equal(place?.launching, path.join(launching, 'cgroup.procs'));
    assert.ok(fs.existsSync(launching));
    limits?.close();
    assert.ok(!fs.existsSync(launching));
  });

  it('gives a workload without limits a bound for processes alone', () => {
    write({ ...offering('.'), ...offering('gangway-i') });
    const none = { memoryMb: null, cpus: null, pids: null, replicas: 1 };
    openCgroups(v2Host(true, '/'), 'i', noLog)?.confinementOf('dep-1', none).open();
    assert.deepEqual(fs.readdirSync(path.join(root, 'gangway-i/w-dep-1')), ['pids.max']);
    assert.equal(read('gangway-i/w-dep-1/pids.max'), '2048');
  });

  it('reads usage and ends of version 2', () => {
    write({ ...offering('.'), ...offering('gangway-i') });
    const group = openCgroups(v2Host(true, '/'), 'i', noLog)?.confinementOf('dep-1', resources);
    assert.equal(group?.usage(), undefined);
    write({
      'gangway-i/w-dep-1/cpu.stat': 'usage_usec 1500\nuser_usec 1000\nnr_throttled 0\n',
      'gangway-i/w-dep-1/memory.current': '9000\n',
      'gangway-i/w-dep-1/memory.stat': 'anon 5000\nfile 4000\ninactive_file 3000\n',
      'gangway-i/w-dep-1/memory.events': 'max 3\noom 2\noom_kill 2\n',
      'gangway-i/w-dep-1/cgroup.procs': '',
    });
    assert.deepEqual(group?.usage(), { cpuNs: 1_500_000, memoryBytes: 6000 });
    assert.equal(group.oomKills(), 2);
    group.kill();
    assert.equal(read('gangway-i/w-dep-1/cgroup.kill'), '1');
  });

  it('goes below a group that was delegated, without root', () => {
    write({
      'user.slice/cgroup.controllers': '',
      ...offering('user.slice/app.service', ''),
      ...offering('user.slice/app.service/gangway-i'),
    });
    const limits = openCgroups(v2Host(false, '/user.slice/app.service'), 'i', noLog);
    assert.equal(limits?.kind, 'cgroup-v2');
    assert.match(read('user.slice/app.service/cgroup.subtree_control'), /^\+(memory|cpu|pids)$/);
  });

  it('moves what is in a group of its own before anything is handed down', () => {
    const unit = 'system.slice/g.service';
    write({ ...offering(unit, ''), ...offering(path.join(unit, 'gangway-i')) });
    write({ [`${unit}/cgroup.type`]: 'domain\n', [`${unit}/cgroup.procs`]: '4711\n' });
    openCgroups(v2Host(false, `/${unit}`), 'i', noLog);
    // The file keeps the process, so that it seems to stay: the kernel would break the unit.
    assert.equal(read(`${unit}/gangway-self/cgroup.procs`), '4711');
    assert.equal(read(`${unit}/cgroup.subtree_control`), '');
  });

  it('hands nothing down in a group with processes of others', () => {
    write({ ...offering('.', ''), 'cgroup.type': 'domain\n', 'cgroup.procs': '0\n' });
    write({ ...offering('unit', ''), 'unit/cgroup.procs': '' });
    openCgroups(v2Host(true, '/unit'), 'i', noLog);
    assert.equal(read('cgroup.subtree_control'), '');
    assert.ok(!fs.existsSync(path.join(root, 'gangway-self')));
    assert.match(read('unit/cgroup.subtree_control'), /^\+\w+$/);
  });

  it('finds its own group where a part of the tree is mounted', () => {
    write({ ...offering('in'), ...offering('in/gangway-i') });
    const host = {
      mountinfo: `29 22 0:26 /docker/abc ${root} rw - cgroup2 cgroup2 rw\n`,
      selfCgroup: '0::/docker/abc/in\n',
      isRoot: false,
    };
    assert.equal(openCgroups(host, 'i', noLog)?.kind, 'cgroup-v2');
    assert.equal(openCgroups({ ...host, selfCgroup: '0::/other\n' }, 'i', noLog), undefined);
  });

  it('takes a group that is its own root, as in a container, also without root', () => {
    write({ ...offering('.'), ...offering('gangway-i') });
    assert.equal(openCgroups(v2Host(false, '/'), 'i', noLog)?.kind, 'cgroup-v2');
    assert.equal(openCgroups(v2Host(false, '/../outside'), 'i', noLog), undefined);
  });

  it('says which limits the tree does not offer', () => {
    const two = ['memory pids', 'memory pids'] as const;
    write({ ...offering('.', ...two), ...offering('gangway-i', ...two) });
    assert.deepEqual(openCgroups(v2Host(true, '/'), 'i', noLog)?.missing, ['cpus']);
  });

  it('limits each tree of version 1 by itself', () => {
    for (const name of ['memory', 'cpu', 'cpuacct', 'pids']) fs.mkdirSync(path.join(root, name));
    const limits = openCgroups(v1Host(), 'i', noLog);
    assert.equal(limits?.kind, 'cgroup-v1');
    const group = limits.confinementOf('dep-1', resources);
    group.open();
    const bytes = String(256 * 2 ** 20);
    assert.equal(read('memory/gangway-i/w-dep-1/memory.limit_in_bytes'), bytes);
    assert.equal(read('memory/gangway-i/w-dep-1/memory.memsw.limit_in_bytes'), bytes);
    assert.equal(read('cpu/gangway-i/w-dep-1/cpu.cfs_quota_us'), '50000');
    assert.equal(read('pids/gangway-i/w-dep-1/pids.max'), '64');
    assert.equal(group.place?.join.length, 4);
    write({
      'cpuacct/gangway-i/w-dep-1/cpuacct.usage': '123456789\n',
      'memory/gangway-i/w-dep-1/memory.usage_in_bytes': '9000\n',
      'memory/gangway-i/w-dep-1/memory.stat': 'inactive_file 1\ntotal_inactive_file 4000\n',
      'memory/gangway-i/w-dep-1/memory.oom_control': 'oom_kill_disable 0\noom_kill 1\n',
    });
    assert.deepEqual(group.usage(), { cpuNs: 123_456_789, memoryBytes: 5000 });
    assert.equal(group.oomKills(), 1);
  });

  it('divides memory between teams: all leave a part, and of several none takes all', () => {
    for (const name of ['memory', 'cpu', 'cpuacct', 'pids']) fs.mkdirSync(path.join(root, name));
    const gibibyte = 2 ** 30;
    const limits = openCgroups({ ...v1Host(), memoryBytes: 8 * gibibyte }, 'i', noLog);
    const limitOf = (name: string): number =>
      Number(read(path.join('memory/gangway-i', name, 'memory.limit_in_bytes')));
    assert.equal(limitOf('.'), 7 * gibibyte);
    const one = limits?.confinementOf('dep-1', resources, 'team_a');
    one?.open();
    assert.equal(limitOf('t-team_a'), 7 * gibibyte);
    assert.equal(read('pids/gangway-i/t-team_a/w-dep-1/pids.max'), '64');
    const two = limits?.confinementOf('dep-2', resources, 'team_b');
    two?.open();
    assert.deepEqual(
      [limitOf('t-team_a'), limitOf('t-team_b')],
      [5.25 * gibibyte, 5.25 * gibibyte],
    );
    // Of plain files a group is not empty.
    fs.rmSync(path.join(root, 'memory/gangway-i/t-team_b'), { recursive: true });
    two?.close();
    assert.equal(limitOf('t-team_a'), 7 * gibibyte);
    // Not a group of ours, whatever it is called.
    const odd = limits?.confinementOf('dep-3', resources, '../../team');
    assert.ok(odd?.place?.join.every((file) => file.includes('/gangway-i/w-dep-3/')));
  });

  it('puts no bound of memory below what is used on version 2', () => {
    write({ ...offering('.'), ...offering('gangway-i'), 'memory.max': `${String(2 ** 32)}\n` });
    write({
      'gangway-i/memory.current': String(2 ** 33),
      'gangway-i/memory.stat': `anon 1\nfile ${String(2 ** 33)}\nshmem ${String(2 ** 31)}\n`,
      'gangway-i/t-team_a/memory.current': String(2 ** 33),
      'gangway-i/t-team_a/memory.stat': 'file 0\nshmem 0\n',
    });
    const host = { ...v2Host(true, '/'), memoryBytes: 2 ** 35 };
    const limits = openCgroups(host, 'i', noLog);
    // Half a GiB is kept of the four that the group above has.
    assert.equal(read('gangway-i/memory.max'), String(3.5 * 2 ** 30));
    limits?.confinementOf('dep-1', resources, 'team_a').open();
    assert.ok(!fs.existsSync(path.join(root, 'gangway-i/t-team_a/memory.max')));
  });

  it('ends what an earlier version left beside the groups of teams', () => {
    for (const name of ['memory', 'cpu', 'cpuacct', 'pids']) {
      fs.mkdirSync(path.join(root, name, 'gangway-i', 'w-dep-1'), { recursive: true });
    }
    const limits = openCgroups({ ...v1Host(), memoryBytes: 2 ** 33 }, 'i', noLog);
    limits?.sweep(new Set(['dep-1']));
    limits?.confinementOf('dep-1', resources, 'team_a');
    assert.ok(!fs.existsSync(path.join(root, 'pids/gangway-i/w-dep-1')));
  });

  it('removes groups of workloads that nobody knows any more', () => {
    for (const name of ['memory', 'cpu', 'cpuacct', 'pids']) {
      fs.mkdirSync(path.join(root, name, 'gangway-i', 'w-old-1'), { recursive: true });
      fs.mkdirSync(path.join(root, name, 'gangway-i', 'w-known-1'));
    }
    const limits = openCgroups(v1Host(), 'i', noLog);
    limits?.sweep(new Set(['known-1']));
    assert.deepEqual(fs.readdirSync(path.join(root, 'pids', 'gangway-i')), ['w-known-1']);
    limits?.close();
    assert.deepEqual(fs.readdirSync(path.join(root, 'pids')), []);
  });

  it('removes what a workload made below its group, and tries again while something is in it', async () => {
    for (const name of ['memory', 'cpu', 'cpuacct', 'pids']) {
      fs.mkdirSync(path.join(root, name, 'gangway-i', 'w-old-1', 'inner'), { recursive: true });
    }
    const busy = path.join(root, 'pids/gangway-i/w-old-1/inner/busy');
    fs.writeFileSync(busy, '');
    const limits = openCgroups(v1Host(), 'i', noLog);
    limits?.sweep(new Set());
    assert.ok(fs.existsSync(busy));
    assert.deepEqual(fs.readdirSync(path.join(root, 'memory', 'gangway-i')), []);
    fs.rmSync(busy);
    await eventually('it is gone', () => !fs.existsSync(path.dirname(path.dirname(busy))));
    limits?.close();
  });

  it('finds nothing where there is nothing, or nothing is ours', () => {
    assert.equal(
      openCgroups({ mountinfo: '', selfCgroup: '', isRoot: true }, 'i', noLog),
      undefined,
    );
    write({ 'cgroup.controllers': 'hugetlb\n' });
    assert.equal(openCgroups(v2Host(true, '/'), 'i', noLog), undefined);
    assert.deepEqual(fs.readdirSync(root), ['cgroup.controllers']);
  });
});

/** What the process driver does with the control groups of this machine; they are for root to make. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import type { Driver } from '../../src/drivers/driver.ts';
import type { Resources } from '../../src/protocol/workload.ts';
import { findFlat, parseMounts } from '../../src/programs/runner/limits/cgroup-files.ts';
import { ended, js, readAll, running, sh, specOf, textOf, until } from '../support/driver-specs.ts';
import { needs } from '../support/programs.ts';
import { processPlace, tempDir } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

const { v1, v2 } = parseMounts(fs.readFileSync('/proc/self/mountinfo', 'utf8'));
const cpuMount = v1.get('cpu') ?? v2?.dir ?? '';
const pidsMount = v1.get('pids') ?? v2?.dir ?? '';

/** The group of a workload of a data directory, below a mount. */
function groupOf(mount: string, { dataDir }: ProcessPlace, id: string): string {
  const stateDir = path.join(dataDir, 'runner');
  const name = fs.readFileSync(path.join(stateDir, 'instance'), 'utf8');
  const folder = fs.readdirSync(mount).find((entry) => entry.startsWith(`gangway-${name}-`));
  return path.join(mount, folder ?? 'none', `w-${id}`);
}

describe('the process driver with control groups', { skip: needs('root') }, () => {
  let place: ProcessPlace;
  let driver: Driver;
  before(() => {
    place = processPlace();
    driver = place.driver;
  });
  after(() => place.close());

  const limited = (limits: Partial<Resources>): Resources => ({
    memoryMb: null,
    cpus: null,
    pids: null,
    replicas: 1,
    ...limits,
  });

  it('says of a program that was ended for its memory what it had', async () => {
    const command = js('const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))');
    await driver.start(specOf({ id: 'hungry-1', command, resources: limited({ memoryMb: 96 }) }));
    const { exit } = (await ended(driver, 'hungry-1')).state;
    assert.deepEqual(
      [exit.code, exit.signal, exit.reason, exit.detail],
      [null, 'SIGKILL', 'exited', 'It used more than its 96 MB of memory and was ended.'],
    );
  });

  it('ends a program that goes on forking beyond what it may have, and says so', async () => {
    const command = sh('exec perl -e "fork while 1"');
    await driver.start(specOf({ id: 'bomb-1', command, resources: limited({ pids: 40 }) }));
    const { exit } = (await ended(driver, 'bomb-1')).state;
    assert.match(exit.detail ?? '', /processes beyond its 40/);
  });

  it('holds a program to its part of the processors', async () => {
    const command = sh('while :; do :; done');
    const resources = limited({ cpus: 0.1 });
    await driver.start(specOf({ id: 'spin-1', command, kind: 'service', resources }));
    await until('a pause the kernel made', () => {
      const stat = path.join(groupOf(cpuMount, place, 'spin-1'), 'cpu.stat');
      if (!fs.existsSync(stat)) return false;
      return (findFlat(fs.readFileSync(stat, 'utf8'), 'nr_throttled') ?? 0) > 2;
    });
    await driver.remove('spin-1');
  });

  it('finds what wiped its marks and left its session and its parent', async () => {
    const command = sh("setsid env -i sh -c '(exec sleep 98721) & exit' & sleep 98722");
    await driver.start(specOf({ id: 'lost-1', command, kind: 'service', stopGraceMs: 100 }));
    await until('the orphan', () => running('sleep 98721').length > 0);
    await driver.stop('lost-1');
    assert.deepEqual([running('sleep 98721'), running('sleep 98722')], [[], []]);
  });

  it('lets nothing of the app run as root, or outside', async () => {
    const dir = tempDir();
    fs.chmodSync(dir, 0o755);
    try {
      // What a loader would open is looked for under the uid that the program has.
      const env = {
        PATH: '/usr/bin:/bin',
        NODE_OPTIONS: '--require=/no/such.js',
        LD_PRELOAD: '/x',
      };
      const command = sh('id -u; cat /proc/self/cgroup');
      await driver.start(specOf({ id: 'own-1', command, env, uid: 234_567, workingDir: dir }));
      const lines = textOf(await readAll(driver, 'own-1'), 'stdout').split('\n');
      assert.equal(lines[0], '234567');
      assert.ok(lines.some((line) => line.endsWith('/w-own-1')));
    } finally {
      fs.rmSync(dir, { recursive: true });
    }
  });

  it('removes the groups of what ended', async () => {
    await driver.start(specOf({ id: 'brief-1', command: sh('true') }));
    const group = groupOf(pidsMount, place, 'brief-1');
    assert.ok(fs.existsSync(path.dirname(group)));
    await ended(driver, 'brief-1');
    await until('its group to go', () => !fs.existsSync(group));
  });

  it('ends what a dead runner left in its groups', async () => {
    const command = sh("setsid env -i sh -c '(exec sleep 98711) & exit' & sleep 98712");
    await driver.start(specOf({ id: 'left-1', command, kind: 'job' }));
    await until('the orphan', () => running('sleep 98711').length > 0);
    await place.killRunner();
    await ended(driver, 'left-1');
    assert.deepEqual([running('sleep 98711'), running('sleep 98712')], [[], []]);
  });

  it('leaves no group behind when its runner ends', async () => {
    const other = processPlace();
    await other.driver.start(specOf({ id: 'last-1', command: sh('sleep 98701'), kind: 'service' }));
    const group = groupOf(pidsMount, other, 'last-1');
    await until('its group', () => fs.existsSync(group));
    await other.close();
    assert.ok(!fs.existsSync(path.dirname(group)));
  });
});

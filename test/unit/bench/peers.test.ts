import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Bench } from '../../../bench/harness.ts';
import { Packages } from '../../../bench/peers.ts';

describe('the packages of the peers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-test-'));
  const bench = new Bench({ quick: true });
  let runs = 0;
  const counted: Pick<Bench, 'run'> = {
    run: (command, args) => {
      runs++;
      return bench.run(command, args);
    },
  };

  before(() => {
    const manifest = { name: 'one', version: '1.0.0' };
    const root = { name: 'peers', version: '1.0.0', dependencies: { one: 'file:one' } };
    const linked = { resolved: 'one', link: true };
    const packages = { '': root, one: { version: '1.0.0' }, 'node_modules/one': linked };
    const lock = { ...root, lockfileVersion: 3, requires: true, packages, dependencies: undefined };
    mkdirSync(join(folder, 'one'));
    writeFileSync(join(folder, 'one/package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'package.json'), JSON.stringify(root));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  });
  after(async () => {
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are installed once for all that want them, and the process goes on meanwhile', async () => {
    const packages = new Packages(folder);
    let turns = 0;
    const turning = setInterval(() => turns++, 1);
    try {
      await Promise.all([packages.ready(counted), packages.ready(counted)]);
    } finally {
      clearInterval(turning);
    }
    assert.ok(existsSync(join(folder, 'node_modules/one/package.json')));
    assert.equal(runs, 1);
    assert.ok(turns > 0);
    await packages.ready(counted);
    await new Packages(folder).ready(counted);
    assert.equal(runs, 1);
  });

  it('are told not to be there, and tried again by who comes next', async () => {
    writeFileSync(join(folder, 'package-lock.json'), '{');
    const packages = new Packages(folder);
    // Three times each: a network may be away for a moment.
    for (const expected of [4, 7]) {
      await assert.rejects(packages.ready(counted), /The peers cannot be installed/);
      assert.equal(runs, expected);
    }
  });
});

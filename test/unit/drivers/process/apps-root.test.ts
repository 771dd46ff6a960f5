import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { prepareAppsRoot } from '../../../../src/drivers/process/apps-root.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';
import { tempDir } from '../../../support/runner.ts';

describe('prepareAppsRoot()', () => {
  let base: string;
  beforeEach(() => {
    base = fs.realpathSync(tempDir());
  });
  afterEach(() => {
    fs.rmSync(base, { recursive: true });
  });

  const modeOf = (file: string): number => fs.statSync(file).mode & 0o777;
  const prepare = (dataDir: string, isRoot = true): ReturnType<typeof prepareAppsRoot> =>
    prepareAppsRoot({ dataDir, isRoot, logger: recordingLogger(), fallbackDir: `${base}/lib` });

  it('lays apps below the data directory when every uid can walk there', async () => {
    fs.chmodSync(base, 0o711);
    const dataDir = path.join(base, 'data');
    assert.deepEqual(await prepare(dataDir), { appsRoot: `${dataDir}/apps`, perAppUid: true });
    assert.equal(modeOf(dataDir), 0o711);
    assert.equal(modeOf(`${dataDir}/apps`), 0o711);
    assert.deepEqual(await prepare(dataDir), { appsRoot: `${dataDir}/apps`, perAppUid: true });
  });

  it('closes what lies open in the data directory', async () => {
    fs.mkdirSync(`${base}/data/store`, { recursive: true, mode: 0o755 });
    fs.writeFileSync(`${base}/data/instance.key`, 'x', { mode: 0o644 });
    await prepare(path.join(base, 'data'));
    assert.equal(modeOf(`${base}/data/store`), 0o700);
    assert.equal(modeOf(`${base}/data/instance.key`), 0o600);
  });

  it('lays apps elsewhere when a folder above is closed, and always at the same place', async () => {
    const dataDir = path.join(base, 'closed', 'data');
    fs.mkdirSync(dataDir, { recursive: true });
    fs.chmodSync(path.join(base, 'closed'), 0o700);
    const first = await prepare(dataDir);
    assert.ok(first.appsRoot.startsWith(`${base}/lib/`));
    assert.equal(fs.realpathSync(`${dataDir}/apps`), first.appsRoot);
    fs.writeFileSync(`${first.appsRoot}/kept`, 'x');
    assert.deepEqual(await prepare(dataDir), first);
    assert.ok(fs.existsSync(`${dataDir}/apps/kept`));
  });

  it('takes the apps along when a folder above was closed later', async () => {
    fs.chmodSync(base, 0o711);
    const dataDir = path.join(base, 'data');
    await prepare(dataDir);
    fs.writeFileSync(`${dataDir}/apps/kept`, 'x');
    fs.chmodSync(base, 0o700);
    const { appsRoot } = await prepare(dataDir);
    assert.ok(appsRoot.startsWith(`${base}/lib/`));
    assert.ok(fs.existsSync(`${appsRoot}/kept`));
  });

  it('shares no apps with a copy of the data directory', async () => {
    const dataDir = path.join(base, 'data');
    const first = await prepare(dataDir);
    fs.cpSync(dataDir, `${base}/copy`, { recursive: true, verbatimSymlinks: true });
    const second = await prepare(path.join(base, 'copy'));
    assert.notEqual(second.appsRoot, first.appsRoot);
  });

  it('keeps what folders above say of packages from apps', async () => {
    fs.chmodSync(base, 0o711);
    fs.writeFileSync(`${base}/package.json`, '{"type":"module"}');
    for (const isRoot of [true, false]) {
      const { appsRoot } = await prepare(path.join(base, `data-${String(isRoot)}`), isRoot);
      assert.equal(modeOf(`${appsRoot}/package.json`), 0o644);
      const app = path.join(appsRoot, 'app');
      fs.mkdirSync(app);
      fs.writeFileSync(`${app}/web.js`, 'module.exports = require("node:path").sep;');
      const run = spawnSync(process.execPath, [`${app}/web.js`], { encoding: 'utf8' });
      assert.equal(run.status, 0, run.stderr);
    }
  });

  it('gives no uids when it is not root', async () => {
    const dataDir = path.join(base, 'data');
    const plain = await prepare(dataDir, false);
    assert.deepEqual(plain, { appsRoot: `${dataDir}/apps`, perAppUid: false });
  });
});

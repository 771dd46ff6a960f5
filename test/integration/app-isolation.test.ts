/** What an app under its own uid can reach of the data directory: its own folders, nothing else. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { prepareAppsRoot } from '../../src/drivers/process/apps-root.ts';
import { prepareToolchain } from '../../src/drivers/process/toolchain.ts';
import type { Toolchain } from '../../src/drivers/process/toolchain.ts';
import { ended, readAll, specOf, textOf } from '../support/driver-specs.ts';
import { needs } from '../support/programs.ts';
import { noLog, processPlace } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

const appUid = 64_101;
const otherUid = 64_102;

/** Tries everything and prints what worked. */
const burglar = `
const fs = require('fs'); const net = require('net'); const [dataDir, appsRoot, other] = process.argv.slice(1);
const tries = {
  listData: () => fs.readdirSync(dataDir), listApps: () => fs.readdirSync(appsRoot),
  key: () => fs.readFileSync(dataDir + '/instance.key'), store: () => fs.readdirSync(dataDir + '/store'),
  file: () => fs.readFileSync(dataDir + '/store/data.mdb'), logs: () => fs.readdirSync(dataDir + '/logs'),
  uploads: () => fs.readdirSync(dataDir + '/uploads'), run: () => fs.readdirSync(dataDir + '/run'),
  runner: () => fs.readdirSync(dataDir + '/runner'), spec: () => fs.readFileSync(dataDir + '/runner/workloads/burglar-1/workload.json'),
  write: () => fs.writeFileSync(dataDir + '/x', ''), writeApps: () => fs.mkdirSync(appsRoot + '/x'),
  other: () => fs.readdirSync(other), secret: () => fs.readFileSync(other + '/secret'),
  tools: () => fs.writeFileSync(appsRoot + '/toolchain/x', ''), node: () => fs.chmodSync(process.execPath, 0o777),
  kill: () => process.kill(process.ppid || 1, 'SIGTERM'), root: () => process.setuid(0),
  environ: () => fs.readFileSync('/proc/' + (process.ppid || 1) + '/environ'),
};
for (const [name, act] of Object.entries(tries)) { try { act(); console.log('can ' + name); } catch (e) { console.log('cannot ' + name); } }
fs.writeFileSync('own', 'x'); fs.writeFileSync('/dev/stderr', 'reopened'); console.log('can own ' + process.getuid() + ' ' + process.getgid() + ' ' + process.getgroups());
net.connect(dataDir + '/run/runner.sock').on('connect', () => { console.log('can socket'); process.exit() }).on('error', () => console.log('cannot socket'));
`;

describe('an app under its own uid', { skip: needs('root') }, () => {
  let place: ProcessPlace;
  let appsRoot: string;
  let tools: Toolchain;
  before(async () => {
    place = processPlace();
    for (const part of ['store', 'logs', 'uploads']) fs.mkdirSync(path.join(place.dataDir, part));
    fs.writeFileSync(path.join(place.dataDir, 'store', 'data.mdb'), 'secret');
    fs.writeFileSync(path.join(place.dataDir, 'instance.key'), 'secret');
    ({ appsRoot } = await prepareAppsRoot({ dataDir: place.dataDir, logger: noLog }));
    tools = await prepareToolchain({ appsRoot, logger: noLog });
  });
  after(() => place.close());

  function appFolder(name: string, uid: number): string {
    const dir = path.join(appsRoot, name);
    fs.mkdirSync(dir);
    fs.chownSync(dir, uid, uid);
    fs.chmodSync(dir, 0o700);
    return dir;
  }

  it('reaches its own folder and nothing else', async () => {
    const workingDir = appFolder('app_one', appUid);
    const other = appFolder('app_two', otherUid);
    fs.writeFileSync(path.join(other, 'secret'), 'x');
    const command = [tools.node, '-e', burglar, place.dataDir, appsRoot, other];
    await place.driver.start(specOf({ id: 'burglar-1', command, workingDir, uid: appUid }));
    const log = textOf(await readAll(place.driver, 'burglar-1'));
    const could = log.split('\n').filter((line) => line.startsWith('can '));
    const ids = `${String(appUid)} ${String(appUid)} ${String(appUid)}`;
    assert.deepEqual(could, [`can own ${ids}`], log);
    assert.ok(log.includes('cannot socket'));
    assert.ok(log.includes('reopened'));
  });

  it('runs npm and serves files with the tools it is given', async () => {
    const workingDir = appFolder('app_tools', appUid);
    fs.writeFileSync(path.join(workingDir, 'package.json'), '{"scripts":{"hi":"node -p 1+1"}}');
    const env = { PATH: `${tools.binDir}:/usr/bin:/bin`, HOME: workingDir };
    const command = ['npm', 'run', 'hi', '--silent'];
    await place.driver.start(specOf({ id: 'npm-1', command, workingDir, env, uid: appUid }));
    assert.equal(textOf(await readAll(place.driver, 'npm-1')), '2\n');
    assert.equal((await ended(place.driver, 'npm-1')).state.exit.code, 0);
  });
});

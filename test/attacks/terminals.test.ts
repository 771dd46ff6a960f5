/** An app that opens all terminals it can, of which the machine has some thousands for everybody. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { prepareAppsRoot } from '../../src/drivers/process/apps-root.ts';
import { readSome, specOf, textOf, until } from '../support/driver-specs.ts';
import { eventually } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';
import { noLog, type ProcessPlace, processPlace } from '../support/runner.ts';

const [hostileUid, victimUid] = [217_101, 217_102];
/** More than an app is to get, and few enough for the machine when it gets them. */
const wanted = 300;

/**
 * Opens its own, and then, as root of a user namespace of its own, those of the machine: what opens terminals
 * does so for the folder beside it.
 */
const hostile = `
const fs = require('node:fs');
const take = (file) => {
  let taken = 0;
  try { while (taken < ${String(wanted)}) { fs.openSync(file, 'r+'); taken++; } } catch {}
  return taken;
};
if (process.argv[1] === 'inside') {
  console.log('second ' + take('/tmp/dev/ptmx') + '.');
  setInterval(() => undefined, 60000);
} else {
  console.log('first ' + take('/dev/ptmx') + '.');
  const lead = 'mkdir -p /tmp/dev/pts && touch /tmp/dev/ptmx && mount --bind /dev/ptmx /tmp/dev/ptmx && ' +
    'mount --rbind "$1" /tmp/dev/pts; exec "$2" -e "$3" inside';
  const inside = ['sh', process.env.TERMINALS, process.execPath, process.env.HOSTILE];
  require('node:child_process').spawn('unshare',
    ['--user', '--map-root-user', '--mount', 'sh', '-c', lead, ...inside], { stdio: 'inherit' });
}`;

describe('an app that opens all terminals', { skip: needs('root', 'unshare', 'mount') }, () => {
  let place: ProcessPlace;
  let appsRoot: string;

  before(async () => {
    place = processPlace();
    ({ appsRoot } = await prepareAppsRoot({ dataDir: place.dataDir, logger: noLog }));
    await start('hostile', hostileUid, hostile, {
      HOSTILE: hostile,
      TERMINALS: path.join(fs.realpathSync(place.dataDir), 'pts'),
    });
    await start('victim', victimUid, 'setInterval(() => undefined, 60000)');
  });
  after(() => place.close());

  async function start(
    name: string,
    uid: number,
    script: string,
    env: Record<string, string> = {},
  ): Promise<void> {
    const root = path.join(appsRoot, `app_${name}`);
    const temp = path.join(root, 'tmp');
    fs.mkdirSync(temp, { recursive: true });
    fs.chownSync(root, 0, uid);
    fs.chownSync(temp, uid, uid);
    await place.driver.start(
      specOf({
        ...{ id: `${name}-1`, owner: `app_${name}`, kind: 'service', uid, workingDir: temp },
        ...{ command: [process.execPath, '-e', script], files: { root, temp }, stopGraceMs: 200 },
        env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...env },
      }),
    );
  }

  async function taken(which: string): Promise<number> {
    const text = new RegExp(`${which} (\\d+)\\.`);
    return await until(`what it took ${which}`, async () => {
      const count = text.exec(textOf(await readSome(place.driver, 'hostile-1')))?.[1];
      return count === undefined ? undefined : Number(count);
    });
  }

  it('gets a few', async () => {
    const first = await taken('first');
    assert.ok(first > 0 && first < wanted, String(first));
    assert.ok((await taken('second')) < wanted);
  });

  it('leaves consoles to others, on terminals that programs find by their names', async (t) => {
    let text = '';
    const command = ['/bin/sh', '-c', 'test -w "$(tty)" && echo named > "$(tty)"; cat'];
    const terminal = await place.driver.openTerminal(
      'victim-1',
      { command, cols: 80, rows: 24, env: {} },
      { output: (bytes) => (text += Buffer.from(bytes).toString()), exit: () => undefined },
    );
    t.after(() => terminal.close());
    await eventually('its name', () => text.includes('named'));
  });
});

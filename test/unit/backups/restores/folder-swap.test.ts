import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { swapFolders } from '../../../../src/backups/restores/folder-swap.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

/** A `sync` that tells what is in the folders it is given, and in the live one. */
function spiedSync(t: TestContext, dir: string, live: string): () => string {
  const [bin, log] = [join(dir, 'bin'), join(dir, 'log')];
  mkdirSync(bin);
  const tell = `echo "$*: $(cat "$2"/*) beside $(cat "${live}"/*)" >> "${log}"`;
  writeFileSync(join(bin, 'sync'), `#!/bin/sh\n${tell}\n`, { mode: 0o755 });
  const { PATH = '' } = process.env;
  process.env['PATH'] = `${bin}${delimiter}${PATH}`;
  t.after(() => (process.env['PATH'] = PATH));
  return () => readFileSync(log, 'utf8');
}

describe('swapFolders()', () => {
  const skip = process.platform !== 'linux' && 'needs the sync of Linux';
  it(
    'writes the new files out before it touches the old, and their names before it removes those',
    { skip },
    async (t) => {
      const dir = await temporaryFolder(t);
      const root = join(dir, 'app');
      const live = join(root, 'data');
      mkdirSync(live, { recursive: true });
      writeFileSync(join(live, 'file'), 'old');
      const told = spiedSync(t, dir, live);
      const steps: string[] = [];
      const folder = await open(root, 'r');
      const { ino } = await stat(root);
      const files = Object.getPrototypeOf(folder) as typeof folder;
      const sync: (this: typeof folder) => Promise<void> = Reflect.get(files, 'sync');
      t.mock.method(files, 'sync', async function (this: typeof folder) {
        if ((await this.stat()).ino === ino) steps.push(`names: ${readdirSync(root).join(' ')}`);
        await sync.call(this);
      });
      await folder.close();
      const step = (name: string) => () => {
        steps.push(name);
        return Promise.resolve();
      };
      const control = { stop: step('stop'), start: step('start'), replaced: step('replaced') };
      const places = [{ root, data: 'data', uid: null }];
      await swapFolders({ places, control, log: () => undefined }, ([path = '']) => {
        writeFileSync(join(path, 'file'), 'new');
        return Promise.resolve();
      });
      assert.equal(told(), `-f ${live}-incoming: new beside old\n`);
      const names = 'names: data data-outgoing';
      assert.deepEqual(steps, ['stop', names, 'start', 'replaced']);
      assert.deepEqual(readdirSync(root), ['data']);
    },
  );
});

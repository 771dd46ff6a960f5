/** `npm run screenshots`, of one page in one size: that it still starts a Gangway and finds its way. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { cleanups } from '../support/cleanups.ts';
import { needs } from '../support/programs.ts';
import { tempDir } from '../support/runner.ts';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../screenshots/run.ts', import.meta.url));

describe('screenshots', { skip: needs('chromium') }, () => {
  const later = cleanups();
  let out: string;
  before(() => {
    out = tempDir();
    later(() => rmSync(out, { recursive: true }));
  });
  const take = (...args: string[]) => run(process.execPath, [program, '--out', out, ...args]);

  it('are taken of what was named, in the size and the theme that were named', async () => {
    const wanted = ['--only', 'tokens', '--size', '390', '--theme', 'dark', '--state', 'empty'];
    const { stdout } = await take(...wanted);
    assert.match(stdout, /^1 pictures in /);
    assert.deepEqual(readdirSync(out, { recursive: true }).sort(), [
      'empty',
      join('empty', 'tokens-390-dark.png'),
    ]);
    const picture = readFileSync(join(out, 'empty', 'tokens-390-dark.png'));
    assert.equal(picture.toString('latin1', 1, 4), 'PNG');
    assert.equal(picture.readUInt32BE(16), 390);
  });

  it('are none of what nobody knows', async () => {
    await assert.rejects(take('--size', '500'), /--size 500 is none of 1440, 768, 390/);
    assert.deepEqual(readdirSync(out), ['empty']);
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AppUploads } from '../../../../src/actors/app/uploads.ts';

describe('archives of an app', () => {
  it('are ours alone; those that are named stay', async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'gangway-uploads-'));
    t.after(() => rm(root, { recursive: true, force: true }));
    const uploads = new AppUploads(root, 'app_1');
    const folder = await uploads.ensure();
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    for (const name of ['x', 'y.new']) await writeFile(uploads.file(name), '');
    await uploads.place('y.new', 'y');
    await uploads.keep(new Set(['y']));
    assert.deepEqual(readdirSync(folder), ['y']);
    assert.equal(await uploads.has('y'), true);
    await uploads.remove('y');
    await uploads.remove('y');
    assert.equal(await uploads.has('y'), false);
    await uploads.removeAll();
    await uploads.keep(new Set());
  });
});

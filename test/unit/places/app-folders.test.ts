import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { AppFolders, type Extractor } from '../../../src/places/app-folders.ts';
import { needs } from '../../support/programs.ts';

describe('folders of an app', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gangway-folders-'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  /** Of each archive comes one file. */
  const extractor: Extractor = {
    extract: async (_archive, _format, into) => {
      await writeFile(join(into, 'index.html'), 'hi');
      return { entries: 1, bytes: 2 };
    },
  };
  const archive = { path: '/none', format: 'tar', keepsSoleFolder: false } as const;
  const { signal } = new AbortController();
  const make = (uid: number | null = null) =>
    new AppFolders({ appsRoot: join(root, 'apps'), id: 'app_1', uid, extractor });
  const modeOf = async (path: string): Promise<string> => {
    const { mode, uid, gid } = await stat(path);
    return `${(mode & 0o777).toString(8)} ${String(uid)}:${String(gid)}`;
  };

  it(
    'belong to the app where it may write and to us above that',
    { skip: needs('root') },
    async () => {
      const folders = make(345_678);
      await folders.unpack('dpl_1', archive, { isOurs: true, signal });
      assert.equal(await modeOf(folders.release('dpl_1')), '700 0:0');
      await folders.unpack('dpl_1', archive, { signal });
      assert.equal(await modeOf(folders.release('dpl_1')), '700 345678:345678');
      for (const own of [folders.data, folders.home, folders.temp]) {
        assert.equal(await modeOf(own), '700 345678:345678');
      }
      for (const above of [folders.root, join(folders.root, 'releases')]) {
        assert.equal(await modeOf(above), '710 0:345678');
      }
    },
  );

  it('prepare an empty release over what an earlier try left', async () => {
    const folders = make();
    const release = await folders.emptyRelease('dpl_1');
    await writeFile(join(release, 'left'), '');
    await folders.emptyRelease('dpl_1');
    assert.deepEqual(readdirSync(release), []);
  });

  it('keep the releases that are named', async () => {
    const folders = make();
    for (const name of ['a', 'b', 'c.partial']) await folders.emptyRelease(name);
    await folders.keepReleases(new Set(['b']));
    assert.deepEqual(readdirSync(join(folders.root, 'releases')), ['b']);
  });

  it('are removed without following a link', async () => {
    const folders = make();
    const outside = join(root, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'kept'), '');
    const release = await folders.emptyRelease('a');
    await symlink(outside, join(release, 'link'));
    await folders.remove();
    assert.ok(existsSync(join(outside, 'kept')));
    assert.ok(!existsSync(folders.root));
    await folders.remove();
  });
});

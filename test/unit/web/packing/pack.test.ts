import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { archiveKind } from '../../../../web/packing/archive-file.ts';
import { pack } from '../../../../web/packing/pack.ts';
import { filesMax, PackingError, planOf } from '../../../../web/packing/plan.ts';
import type { FolderNode, TreeNode } from '../../../../web/packing/tree.ts';
import { verdict } from '../../../support/inspect.ts';
import { stall } from '../../../support/stall.ts';

interface Tree {
  [name: string]: string | Uint8Array<ArrayBuffer> | Tree;
}

function folderOf(name: string, tree: Tree): FolderNode {
  const nodes = Object.entries(tree).map(([child, inside]): TreeNode => {
    if (typeof inside === 'string' || inside instanceof Uint8Array) {
      return { name: child, file: async () => new File([inside], child) };
    }
    return folderOf(child, inside);
  });
  return { name, children: async () => nodes };
}

async function packed(tree: Tree): Promise<Buffer> {
  const archive = await pack(await planOf(folderOf('shop', tree)));
  return Buffer.from(await archive.arrayBuffer());
}

const long = `${'deep/'.repeat(30)}ende-äöü-${'x'.repeat(120)}.txt`;
const longTree = long
  .split('/')
  .reverse()
  .reduce<Tree | string>((inside, name) => ({ [name]: inside }), 'far') as Tree;

describe('pack', () => {
  it('makes an archive that the server takes and tar unpacks as it was', async (t) => {
    const random = crypto.getRandomValues(new Uint8Array(60_000));
    const large = new Uint8Array(300_000).map((_, at) => random[at % 60_000] ?? 0);
    const tree = { 'index.js': 'hello', empty: '', 'run.sh': '#!/bin/sh\n', large, ...longTree };
    const archive = await packed(tree);
    assert.equal(await verdict('tar.gz', archive), 'ok');
    const folder = mkdtempSync(join(tmpdir(), 'gangway-pack-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'a.tgz'), archive);
    execFileSync('tar', ['-xzf', 'a.tgz'], { cwd: folder });
    assert.equal(readFileSync(join(folder, 'index.js'), 'utf8'), 'hello');
    assert.deepEqual(new Uint8Array(readFileSync(join(folder, 'large'))), large);
    assert.equal(readFileSync(join(folder, long), 'utf8'), 'far');
    assert.equal(statSync(join(folder, 'run.sh')).mode & 0o111, 0o111);
    assert.equal(statSync(join(folder, 'index.js')).mode & 0o111, 0);
  });

  it('gives up as soon as the archive is too large', async () => {
    const large = crypto.getRandomValues(new Uint8Array(65_536));
    const tree = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`f${String(at)}`, large]),
    );
    const plan = await planOf(folderOf('big', tree));
    let read = 0;
    await assert.rejects(
      pack(plan, { bytesMax: 200_000, onProgress: (bytes) => (read = bytes) }),
      /larger than/,
    );
    assert.ok(read < plan.bytes / 2);
  });

  it('stops when it is told so', async () => {
    const plan = await planOf(folderOf('shop', { a: 'x' }));
    await assert.rejects(pack(plan, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  });

  it('gives way to the page again and again', async () => {
    const tree = Object.fromEntries(
      Array.from({ length: 400 }, (_, at) => [`f${String(at)}`, 'abc '.repeat(15_000)]),
    );
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const archive = await packed(tree);
    isDone = true;
    assert.equal(gunzipSync(archive).length > 400 * 60_000, true);
    assert.ok(turns > 3, `${String(turns)} turns`);
  });
});

describe('planOf', () => {
  it('leaves out what .gitignore names, and says so', async () => {
    const plan = await planOf(
      folderOf('shop', {
        '.gitignore': 'dist/\n*.log',
        node_modules: { a: { 'index.js': '' } },
        dist: { x: '' },
        src: { 'a.js': 'x', 'b.log': '', '.gitignore': 'secret', secret: '' },
      }),
    );
    const paths = plan.files.map(({ path }) => path);
    assert.deepEqual(paths, ['.gitignore', 'src/a.js', 'src/.gitignore']);
    assert.equal(plan.leftOut.count, 4);
    assert.deepEqual(plan.leftOut.first, ['node_modules/', 'dist/', 'src/b.log', 'src/secret']);
  });

  it('gives way to the page while it looks through 50,000 files', async () => {
    const file = new File(['x'], 'f');
    const inner = Array.from({ length: 500 }, (_, at): TreeNode => {
      return { name: `f${String(at)}`, file: async () => file };
    });
    const folders = Array.from({ length: 100 }, (_, at): TreeNode => {
      return { name: `d${String(at)}`, children: async () => inner };
    });
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const plan = await planOf({ name: 'shop', children: async () => folders });
    isDone = true;
    assert.equal(plan.files.length, 50_000);
    assert.ok(turns > 3, `${String(turns)} turns`);
  });

  it('gives way between files whose size the browser has to ask for', async () => {
    const slow = new File(['xy'], 'f');
    Object.defineProperty(slow, 'size', { get: () => (stall(2), 2) });
    const children = Array.from({ length: 300 }, (_, at): TreeNode => {
      return { name: `f${String(at)}`, file: async () => slow };
    });
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const plan = await planOf({ name: 'shop', children: async () => children });
    isDone = true;
    assert.equal(plan.bytes, 600);
    assert.ok(turns > 20, `${String(turns)} turns`);
  });

  it('refuses a folder with more files than an archive may hold, before it has read all of it', async () => {
    let read = 0;
    const many = Array.from({ length: filesMax * 2 }, (_, at): TreeNode => {
      return { name: `f${String(at)}`, file: async () => (read++, new File([], 'f')) };
    });
    await assert.rejects(planOf({ name: 'shop', children: async () => many }), /more than 200,000/);
    assert.ok(read < filesMax * 1.1, `${String(read)} read`);
  });

  it('names the file that cannot be read', async () => {
    const folder: FolderNode = {
      name: 'shop',
      children: async () => [{ name: 'gone', file: () => Promise.reject(new Error('not found')) }],
    };
    await assert.rejects(planOf(folder), new PackingError('gone could not be read: not found'));
  });
});

describe('archiveKind', () => {
  const zip = new Uint8Array([0x50, 0x4b, 3, 4]);

  it('knows archives by name and content', async () => {
    assert.equal(await archiveKind(new File([zip], 'Shop.ZIP')), 'archive');
    assert.equal(await archiveKind(new File([new Uint8Array([0x1f, 0x8b])], 'a.tgz')), 'archive');
    assert.equal(await archiveKind(new File(['<h1>'], 'index.html')), 'file');
  });

  it('refuses what is called an archive and is none, or is one of another kind', async () => {
    await assert.rejects(archiveKind(new File(['hello'], 'a.zip')), /no such archive/);
    await assert.rejects(archiveKind(new File([zip], 'a.tar')), /no such archive/);
    await assert.rejects(archiveKind(new File(['x'], 'a.rar')), /no archive that can be built/);
  });

  it('refuses an archive that is too large before it is sent', async () => {
    const large = new File([zip], 'a.zip');
    Object.defineProperty(large, 'size', { value: 600 * 1024 * 1024 });
    await assert.rejects(archiveKind(large), /600 MiB; an archive may have 512 MiB/);
  });
});

/** The files of an app through a backup and back. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { appRestorer } from '../../../src/backups/restores/app-restorer.ts';
import type { CameUpload } from '../../../src/backups/restores/app-entries.ts';
import { ensureLive, recoverSwap, swapFolders } from '../../../src/backups/restores/folder-swap.ts';
import { appSource } from '../../../src/backups/sources/app-source.ts';
import { tarEnd, tarHeaders } from '../../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../../src/backups/tar/tar-tree.ts';
import type { AppVolume, ReadVolume } from '../../../src/backups/targets.ts';
import { treeInThread } from '../../../src/backups/threads/tree-thread.ts';
import { collected, pieces } from '../../support/database-server.ts';
import { cutOff } from '../../support/cut-off.ts';
import { needs } from '../../support/programs.ts';
import { tempDir } from '../../support/runner.ts';

const never = new AbortController().signal;

function readable({ name, folder: { root, data } }: AppVolume): ReadVolume {
  return { name, read: (prefix, signal) => treeInThread({ root, name: data, prefix }, signal) };
}

describe('files of an app', () => {
  let root = '';
  let data = '';
  let volume: AppVolume;
  let steps: string[] = [];
  let starts: () => void = () => undefined;
  let came: { filename: string; text: string } | null = null;
  let missed = 0;

  beforeEach(() => {
    root = tempDir();
    data = join(root, 'data');
    fs.mkdirSync(data);
    volume = { name: 'data', folder: { root, data: 'data', uid: null } };
    [steps, starts, came, missed] = [[], () => undefined, null, 0];
  });
  afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

  const write = (path: string, text: string | Buffer): void => {
    fs.mkdirSync(join(data, path, '..'), { recursive: true });
    fs.writeFileSync(join(data, path), text);
  };
  const dumped = (upload: { filename: string; path: string } | null = null): Promise<Buffer> => {
    const target = { volumes: [readable(volume)], upload, settings: { name: 'Shop' } };
    return collected(appSource(target, (count) => (missed = count)).read(never));
  };
  const restore = async (bytes: Buffer): Promise<void> => {
    const control = {
      stop: () => {
        steps.push('stop');
        return Promise.resolve();
      },
      start: () => {
        steps.push('start');
        return Promise.resolve().then(() => starts());
      },
      replaced: () => {
        steps.push('replaced');
        return Promise.resolve();
      },
    };
    const received = async ({ filename, content }: CameUpload): Promise<void> => {
      came = { filename, text: (await collected(content)).toString() };
    };
    const restoring = { volumes: [volume], staging: join(root, 'staging'), control, received };
    await appRestorer(restoring).restore(pieces(bytes), () => undefined, never);
  };
  /** All below the volume: kinds, modes and contents. */
  const seen = (): string[] =>
    fs
      .readdirSync(data, { recursive: true, withFileTypes: true })
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        const content = entry.isFile() ? fs.readFileSync(path, 'base64') : entry.isSymbolicLink() ? fs.readlinkSync(path) : '/'; // prettier-ignore
        return `${path.slice(data.length)} ${content}`;
      })
      .sort();

  it('come back whole, with long names, odd names, empty folders and links that stay inside', async () => {
    const deep = `${'d'.repeat(120)}/${'e'.repeat(200)}/ä ü.txt`;
    write(deep, 'deep');
    write('big', Buffer.alloc(700_001, 7));
    write('empty', '');
    write('bin/run', '#!/bin/sh\n');
    fs.chmodSync(join(data, 'bin/run'), 0o755);
    fs.mkdirSync(join(data, 'hollow/inner'), { recursive: true });
    fs.symlinkSync('../big', join(data, 'bin/link'));
    fs.symlinkSync('x'.repeat(150), join(data, 'nowhere'));
    const first = seen();
    const upload = join(root, 'blob');
    fs.writeFileSync(upload, 'archive');
    const bytes = await dumped({ filename: 'shop.tar.gz', path: upload });
    fs.rmSync(data, { recursive: true });
    fs.mkdirSync(data);
    write('other', 'x');
    await restore(bytes);
    assert.deepEqual(seen(), first);
    assert.equal(fs.statSync(join(data, 'bin/run')).mode & 0o777, 0o755);
    assert.deepEqual(came, { filename: 'shop.tar.gz', text: 'archive' });
    assert.deepEqual(steps, ['stop', 'start', 'replaced']);
    assert.deepEqual(fs.readdirSync(root).sort(), ['blob', 'data']);
    assert.equal(missed, 0);
  });

  it('are read by tar', { skip: needs('tar') }, async () => {
    const name = `${'n'.repeat(90)}/${'m'.repeat(180)}`;
    write(name, 'long');
    const bytes = await dumped();
    const into = join(root, 'into');
    fs.mkdirSync(into);
    execFileSync('tar', ['-x', '-C', into], { input: bytes });
    assert.equal(fs.readFileSync(join(into, 'volumes/data', name), 'utf8'), 'long');
    assert.match(fs.readFileSync(join(into, 'app.json'), 'utf8'), /"Shop"/);
  });

  it('leave out what no backup may hold, and say how much that is', async () => {
    write('kept', 'yes');
    fs.symlinkSync('/etc/passwd', join(data, 'absolute'));
    fs.symlinkSync('../../outside', join(data, 'out'));
    fs.symlinkSync('kept/../../x', join(data, 'through'));
    write('back\\slash', 'no');
    execFileSync('mkfifo', [join(data, 'pipe')]);
    fs.linkSync(join(data, 'kept'), join(data, 'twice'));
    const bytes = await dumped();
    assert.equal(missed, 5);
    await restore(bytes);
    assert.deepEqual(seen(), ['/kept eWVz', '/twice eWVz']);
  });

  it('may change while they are read', async () => {
    for (let i = 0; i < 40; i++) write(`f${String(i)}`, Buffer.alloc(60_000, i));
    const target = { volumes: [readable(volume)], upload: null, settings: {} };
    const chunks: Uint8Array[] = [];
    for await (const chunk of appSource(target, () => undefined).read(never)) {
      chunks.push(chunk);
      // What is not read yet shrinks, grows and goes.
      for (const name of fs.readdirSync(data)) {
        const n = Number(name.slice(1));
        if (n % 3 === 0) fs.truncateSync(join(data, name), 10);
        else if (n % 3 === 1) fs.appendFileSync(join(data, name), 'more');
        else fs.rmSync(join(data, name));
      }
    }
    fs.rmSync(data, { recursive: true });
    fs.mkdirSync(data);
    await restore(Buffer.concat(chunks));
    assert.ok(seen().length >= 26);
  });

  const entry = (name: string, type: 'file' | 'folder' | 'link', target = ''): Buffer =>
    tarHeaders({ name: Buffer.from(name), type, size: 0, mode: 0o644, mtimeMs: 0, target: Buffer.from(target) }); // prettier-ignore
  const tarOf = (...blocks: Uint8Array[]): Buffer => Buffer.concat([...blocks, tarEnd]);
  const settings = [...textEntry('app.json', '{}')];

  it('refuse every tar that is none of an app, and leave the app alone', async () => {
    write('kept', 'yes');
    const good = await dumped();
    const hostile: Record<string, Buffer> = {
      'a link out of its volume': tarOf(...settings, entry('volumes/data/a', 'link', '../../app.json')),
      'a link out of the archive': tarOf(...settings, entry('volumes/data/a', 'link', '../../../../etc')),
      'an absolute link': tarOf(...settings, entry('volumes/data/a', 'link', '/etc/passwd')),
      'a link through a link': tarOf(...settings, entry('volumes/data/d', 'folder'), entry('volumes/data/a', 'link', 'd/../..')),
      'a file behind a link': tarOf(...settings, entry('volumes/data/a', 'link', 'b'), entry('volumes/data/a/x', 'file')),
      'a volume that is a link': tarOf(...settings, entry('volumes/data', 'link', '.')),
      'volumes that are a link': tarOf(...settings, entry('volumes', 'link', '.')),
      'an upload that is a link': tarOf(...settings, entry('upload/x', 'link', '../app.json')),
      'a path that leaves': tarOf(...settings, entry('../evil', 'file')),
      'an absolute path': tarOf(...settings, entry('/tmp/evil', 'file')),
      'a file of no app': tarOf(...settings, entry('etc/passwd', 'file')),
      'settings that are a folder': tarOf(entry('app.json/x', 'file')),
      'settings that are no JSON': tarOf(...textEntry('app.json', '{'), entry('volumes/data/x', 'file')),
      'a tar that is cut off': good.subarray(0, good.length - 2000),
      'no tar': Buffer.from('PGDMP and so on'),
      nothing: Buffer.alloc(0),
    }; // prettier-ignore
    for (const [what, bytes] of Object.entries(hostile)) {
      await assert.rejects(restore(bytes), /The data is as it was\.$/, what);
      assert.deepEqual(seen(), ['/kept eWVz'], what);
      assert.deepEqual(fs.readdirSync(root), ['data'], what);
    }
    assert.deepEqual(steps, []);
  });

  it('keep a volume that is not in the tar', async () => {
    write('kept', 'yes');
    await restore(tarOf(...settings, entry('volumes/other/x', 'file')));
    assert.deepEqual(seen(), ['/kept eWVz']);
  });

  it('are put back when the app is not well with the new ones', async () => {
    write('kept', 'yes');
    const bytes = await dumped();
    write('kept', 'newer');
    let tries = 0;
    starts = () => {
      if (++tries === 1) throw new Error('it did not answer');
    };
    await assert.rejects(restore(bytes), /The previous data is back\.$/);
    assert.equal(fs.readFileSync(join(data, 'kept'), 'utf8'), 'newer');
    assert.deepEqual(steps, ['stop', 'start', 'stop', 'start']);
    assert.deepEqual(fs.readdirSync(root), ['data']);
    starts = () => {
      throw new Error('it never does');
    };
    await assert.rejects(restore(bytes), /could not be put back/);
    assert.equal(fs.readFileSync(join(data, 'kept'), 'utf8'), 'newer');
  });

  it('are the old ones or the new ones, whole, wherever a crash cuts their exchange off', async () => {
    const states = { old: ['/a b2xk', '/b/c b2xk'], new: ['/a bmV3', '/d/e bmV3'] };
    const found = new Set<string>();
    for (let at = 1, isCut = true; isCut; at++) {
      fs.rmSync(root, { recursive: true });
      write('a', 'old');
      write('b/c', 'old');
      const state = { isReplaced: false };
      const control = {
        stop: () => Promise.resolve(),
        start: () => Promise.resolve(),
        replaced: () => {
          state.isReplaced = true;
          return Promise.resolve();
        },
      };
      const swap = { places: [volume.folder], control, log: () => undefined };
      isCut = await cutOff(at, () =>
        swapFolders(swap, async ([path = '']) => {
          await fs.promises.writeFile(join(path, 'a'), 'new');
          await fs.promises.mkdir(join(path, 'd'));
          await fs.promises.writeFile(join(path, 'd/e'), 'new');
        }),
      );
      // The recovery may be cut off, too.
      for (
        let then = 1;
        await cutOff(then, () => recoverSwap(volume.folder, state.isReplaced));
        then++
      );
      const expected = state.isReplaced ? 'new' : 'old';
      found.add(expected);
      const files = seen().filter((line) => !line.endsWith(' /'));
      assert.deepEqual(files, states[expected], `cut off at ${String(at)}`);
      assert.deepEqual(fs.readdirSync(root), ['data'], `cut off at ${String(at)}`);
    }
    assert.deepEqual([...found], ['old', 'new']);
  });

  it('are there for a start behind a crash, whichever they are', async () => {
    write('kept', 'yes');
    fs.renameSync(data, join(root, 'data-outgoing'));
    await ensureLive(volume.folder);
    assert.deepEqual(seen(), ['/kept eWVz']);
    fs.mkdirSync(join(root, 'data-outgoing'));
    await ensureLive(volume.folder);
    assert.deepEqual(seen(), ['/kept eWVz']);
  });

  it('take little memory, however many they are', async () => {
    for (let i = 0; i < 100; i++) {
      fs.mkdirSync(join(data, String(i)));
      for (let j = 0; j < 50; j++) fs.writeFileSync(join(data, String(i), String(j)), 'x');
    }
    const target = { volumes: [readable(volume)], upload: null, settings: {} };
    let [bytes, largest] = [0, 0];
    for await (const chunk of appSource(target, () => undefined).read(never)) {
      bytes += chunk.length;
      largest = Math.max(largest, chunk.length);
    }
    assert.ok(bytes > 5000 * 1024);
    assert.equal(largest, 256 * 1024);
  });
});

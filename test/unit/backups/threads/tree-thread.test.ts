import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { MissedEntries } from '../../../../src/backups/threads/messages.ts';
import {
  handOverInThread,
  removeInThread,
  treeInThread,
} from '../../../../src/backups/threads/tree-thread.ts';
import { collected } from '../../../support/database-server.ts';
import { needs } from '../../../support/programs.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

const never = new AbortController().signal;

async function fixture(t: TestContext) {
  const root = await temporaryFolder(t);
  const data = join(root, 'data');
  fs.mkdirSync(data);
  const read = async function* (signal = never, leaves?: RegExp): AsyncGenerator<Uint8Array> {
    const tree = { root, name: 'data', prefix: 'volumes/data/', ...(leaves && { leaves }) };
    missed = yield* treeInThread(tree, signal);
  };
  let missed: MissedEntries | null = null;
  return { root, data, read, missed: () => missed };
}

// A thread that goes on keeps the test from ending.
describe('treeInThread()', () => {
  it('sends all but what stays out and what cannot be kept', { skip: needs('tar') }, async (t) => {
    const { root, data, read, missed } = await fixture(t);
    fs.writeFileSync(join(data, 'kept'), 'k'.repeat(700_000));
    fs.writeFileSync(join(data, 'left'), 'out');
    execFileSync('mkfifo', [join(data, 'pipe')]);
    const tar = await collected(read(never, /^left$/));
    assert.deepEqual(missed(), { special: 1 });
    fs.writeFileSync(join(root, 'tar'), Buffer.concat([tar, Buffer.alloc(1024)]));
    const names = execFileSync('tar', ['-tf', join(root, 'tar')], { encoding: 'utf8' });
    assert.deepEqual(names.trim().split('\n'), ['volumes/data/', 'volumes/data/kept']);
  });

  it('ends with its reader, and with its signal', async (t) => {
    const { data, read } = await fixture(t);
    fs.writeFileSync(join(data, 'large'), Buffer.alloc(20_000_000));
    for await (const chunk of read()) {
      assert.ok(chunk.length > 0);
      break;
    }
    const stop = new AbortController();
    const until = async (): Promise<void> => {
      for await (const chunk of read(stop.signal))
        if (chunk.length > 0) stop.abort(new Error('enough'));
    };
    await assert.rejects(until(), /enough/);
    await assert.rejects(collected(read(AbortSignal.abort(new Error('late')))), /late/);
  });

  it('says what keeps the tree from being read', async (t) => {
    const { data, read } = await fixture(t);
    fs.rmdirSync(data);
    fs.symlinkSync('/etc', data);
    await assert.rejects(collected(read()), /ELOOP|ENOTDIR/);
  });
});

describe('handOverInThread() and removeInThread()', () => {
  it('hand over and remove all of a tree', async (t) => {
    const { root, data } = await fixture(t);
    const uid = process.getuid?.() === 0 ? 54_321 : (process.getuid?.() ?? 0);
    fs.mkdirSync(join(data, 'inner'));
    fs.writeFileSync(join(data, 'inner', 'file'), 'x');
    fs.symlinkSync('/nowhere', join(data, 'link'));
    await handOverInThread(data, uid);
    for (const path of ['.', 'inner', 'inner/file', 'link']) {
      assert.equal(fs.lstatSync(join(data, path)).uid, uid, path);
    }
    await removeInThread(data);
    assert.deepEqual(fs.readdirSync(root), []);
  });

  it('remove a link alone, and nothing where there is nothing', async (t) => {
    const { root, data } = await fixture(t);
    fs.symlinkSync(data, join(root, 'link'));
    await removeInThread(join(root, 'link'));
    await removeInThread(join(root, 'nothing'));
    assert.deepEqual(fs.readdirSync(root), ['data']);
  });

  it('say what keeps a tree from being handed over', async (t) => {
    const { root } = await fixture(t);
    await assert.rejects(handOverInThread(join(root, 'nothing'), 0), /ENOENT/);
  });
});

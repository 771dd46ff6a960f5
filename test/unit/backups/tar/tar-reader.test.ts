import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { tarEnd, tarHeaders } from '../../../../src/backups/tar/tar-header.ts';
import { TarReader } from '../../../../src/backups/tar/tar-reader.ts';
import { volumesTar } from '../../../../src/backups/tar/volume-tar.ts';
import { collected, pieces } from '../../../support/database-server.ts';
import { needs } from '../../../support/programs.ts';
import { tempDir } from '../../../support/runner.ts';

async function seen(bytes: Buffer, size: number): Promise<string[]> {
  const reader = new TarReader(pieces(bytes, size));
  const all: string[] = [];
  for (let item = await reader.next(); item !== null; item = await reader.next()) {
    const { name, flag, mode, target, mtimeMs } = item;
    const { uid, gid } = item.owner;
    const text = all.length % 2 === 0 ? (await collected(reader.content())).length : 'skipped';
    const times = Math.floor(mtimeMs / 1000);
    all.push([flag, name.toString('latin1'), target.toString('latin1'), mode, uid, gid, times, text].join(' ')); // prettier-ignore
  }
  return all;
}

describe('TarReader', () => {
  it(
    'reads what tar writes in its formats, however it is cut',
    { skip: needs('tar') },
    async () => {
      const dir = tempDir();
      const names = ['a', 'n'.repeat(120), 'd/'.repeat(90) + 'deep', 'new\nline', Buffer.from('caf\xe9', 'latin1')]; // prettier-ignore
      for (const name of names) {
        const path = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(name as string)]);
        const above = path.subarray(0, path.lastIndexOf(0x2f));
        fs.mkdirSync(above, { recursive: true });
        fs.writeFileSync(path, 'x'.repeat(1300));
      }
      fs.linkSync(join(dir, 'a'), join(dir, 'b'));
      fs.symlinkSync('y'.repeat(150), join(dir, 'l'));
      const who = [
        '--owner=:70000',
        '--group=:3000000',
        '--mtime=@1000000000',
        '--sort=name',
        '--mode=0640',
      ];
      const of = (format: string): Buffer =>
        execFileSync('tar', ['-c', `--format=${format}`, ...who, '-C', dir, '.'], {
          maxBuffer: 1e8,
        });
      const first = await seen(of('gnu'), 10_000);
      assert.equal(first.length, 98);
      assert.ok(first.every((line) => line.includes(' 416 70000 3000000 1000000000 ')));
      for (const size of [1000, 513]) assert.deepEqual(await seen(of('posix'), size), first);
      fs.rmSync(dir, { recursive: true });
    },
  );

  it('reads owners and sizes of any length as they are written', async () => {
    const entry = { name: Buffer.from('x'), type: 'folder', size: 0, mode: 0o7755, mtimeMs: 5000, target: Buffer.alloc(0) } as const; // prettier-ignore
    for (const uid of [0, 0o7777777, 0o10000000, 2 ** 32 - 2]) {
      const bytes = Buffer.concat([tarHeaders({ ...entry, owner: { uid, gid: uid } }), tarEnd]);
      assert.deepEqual(await seen(bytes, 100), [`5 x  493 ${String(uid)} ${String(uid)} 5 0`]);
    }
  });
});

describe('volumesTar()', () => {
  const file = (name: string, text: string, size = text.length): Buffer =>
    Buffer.concat([
      tarHeaders({ name: Buffer.from(name), type: 'file', size, mode: 0o644, mtimeMs: 0, target: Buffer.alloc(0) }), // prettier-ignore
      Buffer.from(text),
      Buffer.alloc(text.length < size ? 0 : (512 - (size % 512)) % 512),
    ]);
  const read = async (readings: Buffer[]): Promise<string[]> => {
    let at = 0;
    const bytes = await collected(
      volumesTar({
        read: () => pieces(readings[at++] ?? Buffer.alloc(0), 300),
        missed: () => undefined,
      }),
    );
    const reader = new TarReader(pieces(Buffer.concat([bytes, tarEnd])));
    const all: string[] = [];
    for (let item = await reader.next(); item !== null; item = await reader.next()) {
      const text = (await collected(reader.content())).toString().replaceAll('\0', '.');
      all.push(`${item.name.toString().replace('volumes/data/', '')} ${text}`);
    }
    return all;
  };

  it('goes on behind what was cut off, by the order of a walk', async () => {
    const all = await read([
      Buffer.concat([file('volumes/data/a', 'one'), file('volumes/data/a-b', 'two', 8)]),
      Buffer.concat([file('volumes/data/a', 'ONE'), file('volumes/data/a-b', 't'), file('volumes/data/a-b2', 'x', 3)]), // prettier-ignore
      Buffer.concat([file('volumes/data/a/x', 'late'), file('volumes/data/c/d', 'end'), tarEnd]),
    ]);
    assert.deepEqual(all, ['a one', 'a-b two.....', 'a-b2 x..', 'c/d end']);
  });

  it('gives up where a reading brings it no further', async () => {
    const cut = file('volumes/data/a', 'one', 8);
    await assert.rejects(read([cut, cut]), { code: 'DUMP_FAILED' });
    await assert.rejects(read([Buffer.alloc(0)]), { code: 'DUMP_FAILED' });
  });
});

import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Held, fullReadBytes, HeldBytes } from '../../../../src/gateway/http/held-bytes.ts';
import { heldFiles } from '../../../support/held-files.ts';
import { tempDir } from '../../../support/runner.ts';

function temporaryDir(t: TestContext): string {
  const dir = tempDir();
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** A read in full, each byte of it this one; lent, so changed behind. */
function hold(held: HeldBytes, byte: number, length = fullReadBytes): Held {
  const lent = new Uint8Array(length).fill(byte);
  const one = held.hold(lent.buffer);
  lent.fill(0);
  return one;
}

function taken(held: HeldBytes, one: Held): Buffer {
  return held.take(one, (bytes) => Buffer.from(bytes.slice(0)));
}

describe('HeldBytes', () => {
  it('holds what was read in full in a file without a name, which is empty once all is taken', (t) => {
    const dir = join(temporaryDir(t), 'missing');
    const held = new HeldBytes(dir);
    t.after(() => held.close());
    const all = [1, 2, 3].map((byte) => hold(held, byte));
    assert.deepEqual(readdirSync(dir), []);
    assert.deepEqual(heldFiles(process.pid, dir), [3 * fullReadBytes]);
    for (const [i, one] of all.entries()) {
      assert.deepEqual(taken(held, one), Buffer.alloc(fullReadBytes, i + 1));
    }
    assert.deepEqual(heldFiles(process.pid, dir), [0]);
    held.close();
    assert.deepEqual(heldFiles(process.pid, dir), []);
  });

  it('uses places again, and mixes up none of them', (t) => {
    const dir = temporaryDir(t);
    const held = new HeldBytes(dir);
    t.after(() => held.close());
    const [first, second] = [hold(held, 1), hold(held, 2)];
    held.drop(first);
    const third = hold(held, 3);
    assert.deepEqual(heldFiles(process.pid, dir), [2 * fullReadBytes]);
    assert.equal(taken(held, second)[0], 2);
    assert.equal(taken(held, third).at(-1), 3);
  });

  it('lends one while another is lent', (t) => {
    const held = new HeldBytes(temporaryDir(t));
    t.after(() => held.close());
    const [outer, inner] = [hold(held, 1), hold(held, 2)];
    held.take(outer, (bytes) => {
      assert.equal(taken(held, inner)[0], 2);
      assert.deepEqual(Buffer.from(bytes), Buffer.alloc(fullReadBytes, 1));
    });
  });

  it('holds in memory what is shorter, and all of it where no file can be made', (t) => {
    const dir = temporaryDir(t);
    const held = new HeldBytes(dir);
    assert.deepEqual(taken(held, hold(held, 7, 100)), Buffer.alloc(100, 7));
    assert.deepEqual(heldFiles(process.pid, dir), []);
    const file = join(dir, 'file');
    writeFileSync(file, '');
    for (const nowhere of [new HeldBytes(null), new HeldBytes(join(file, 'below'))]) {
      assert.deepEqual(taken(nowhere, hold(nowhere, 9)), Buffer.alloc(fullReadBytes, 9));
    }
  });

  it('says so when bytes cannot be read back', (t) => {
    const held = new HeldBytes(temporaryDir(t));
    const one = hold(held, 1);
    held.close();
    assert.throws(() => taken(held, one), /its file is closed/);
  });
});

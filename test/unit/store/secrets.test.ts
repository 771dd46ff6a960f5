import assert from 'node:assert/strict';
import { chmod, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { StoreRefusal } from '../../../src/store/refusal.ts';
import { openSecretBox } from '../../../src/store/secrets.ts';
import { temporaryFolder } from '../../support/store-fixture.ts';

const hex = 'ab'.repeat(32);
const refusal = (pattern: RegExp) => (error: unknown) =>
  error instanceof StoreRefusal && pattern.test(error.message);

describe('openSecretBox()', () => {
  it('opens what it sealed, under the same context and no other', async (t) => {
    const box = openSecretBox({ dir: await temporaryFolder(t) });
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (plain, a, b) => {
        const sealed = box.seal(plain, a);
        assert.equal(box.open(sealed, a), plain);
        if (a !== b) assert.throws(() => box.open(sealed, b), /Cannot open/);
      }),
    );
  });

  it('seals bytes, and never twice to the same', async (t) => {
    const box = openSecretBox({ dir: await temporaryFolder(t) });
    const bytes = Uint8Array.from([0, 255, 1]);
    const sealed = box.seal(bytes, 'c');
    assert.deepEqual(box.openBytes(sealed, 'c'), Buffer.from(bytes));
    assert.notDeepEqual(box.seal(bytes, 'c'), sealed);
  });

  it('refuses bytes that were changed anywhere, cut or lengthened', async (t) => {
    const box = openSecretBox({ dir: await temporaryFolder(t) });
    const sealed = box.seal('secret', 'c');
    for (let i = 0; i < sealed.length; i++) {
      const bad = Uint8Array.from(sealed);
      bad[i] = (bad[i] ?? 0) ^ 1;
      assert.throws(() => box.open(bad, 'c'), /Cannot open/);
      assert.throws(() => box.open(sealed.subarray(0, i), 'c'), /Cannot open/);
    }
    assert.throws(() => box.open(Buffer.concat([sealed, Buffer.from([0])]), 'c'), /Cannot open/);
  });

  it('makes the key file once, for its owner alone, and leaves no draft', async (t) => {
    const dir = await temporaryFolder(t);
    const sealed = openSecretBox({ dir }).seal('secret', 'c');
    assert.equal((await stat(join(dir, 'instance.key'))).mode & 0o777, 0o600);
    assert.deepEqual((await readdir(dir)).sort(), ['instance.key', 'instance.key-check']);
    assert.equal(openSecretBox({ dir }).open(sealed, 'c'), 'secret');
    const key = (await readFile(join(dir, 'instance.key'), 'utf8')).trim();
    assert.equal(openSecretBox({ dir, key }).open(sealed, 'c'), 'secret');
  });

  it('takes a given key as hex or base64 and writes none', async (t) => {
    const dir = await temporaryFolder(t);
    const sealed = openSecretBox({ dir, key: hex }).seal('secret', 'c');
    const base64 = Buffer.from(hex, 'hex').toString('base64');
    assert.equal(openSecretBox({ dir, key: base64 }).open(sealed, 'c'), 'secret');
    assert.deepEqual(await readdir(dir), ['instance.key-check']);
  });

  it('refuses a key that is not the one of the directory, at once', async (t) => {
    const dir = await temporaryFolder(t);
    openSecretBox({ dir, key: hex });
    assert.throws(() => openSecretBox({ dir, key: 'cd'.repeat(32) }), refusal(/not its own/));
    assert.throws(() => openSecretBox({ dir }), refusal(/missing/));
    assert.throws(() => openSecretBox({ dir, key: 'short' }), refusal(/32 bytes/));
  });

  it('refuses a key file that is damaged, lost, or open to others', async (t) => {
    const dir = await temporaryFolder(t);
    const file = join(dir, 'instance.key');
    openSecretBox({ dir });
    await chmod(file, 0o640);
    assert.throws(() => openSecretBox({ dir }), refusal(/0600/));
    await chmod(file, 0o600);
    await writeFile(file, 'damaged');
    assert.throws(() => openSecretBox({ dir }), refusal(/32 bytes/));
    await rm(file);
    assert.throws(() => openSecretBox({ dir }), refusal(/missing/));
  });

  it('derives a key of its own for each purpose, the same every time', async (t) => {
    const dir = await temporaryFolder(t);
    const box = openSecretBox({ dir, key: hex });
    assert.equal(box.derive('a').length, 32);
    assert.deepEqual(openSecretBox({ dir, key: hex }).derive('a'), box.derive('a'));
    assert.notDeepEqual(box.derive('b'), box.derive('a'));
    assert.notEqual(box.derive('a').toString('hex'), hex);
  });
});

import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { PasswordResets } from '../../../../src/auth/sign-in/password-resets.ts';
import { signInSecrets } from '../../../support/sign-in-secrets.ts';

const ann = { userId: 'usr_ann', endsTwoFactor: false };

let home: string;
let dir: string;
let now: number;
let resets: PasswordResets;

function withKeyOf(place: string | undefined): PasswordResets {
  return new PasswordResets({ dir, secrets: signInSecrets(place).secrets, now: () => now });
}

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'gangway-resets-'));
  dir = join(home, 'resets');
  now = 1_000_000;
  resets = withKeyOf(home);
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe('PasswordResets', () => {
  it('finds what a token is for, and lets one of many claim it', async () => {
    const token = await resets.create({ ...ann, endsTwoFactor: true });
    assert.equal((await resets.find(token))?.endsTwoFactor, true);
    const claims = await Promise.all(Array.from({ length: 5 }, () => resets.claim(token)));
    assert.equal(claims.filter((claim) => claim !== null).length, 1);
    assert.equal(await resets.find(token), null);
    assert.deepEqual(await readdir(dir), []);
  });

  it('keeps nothing that opens the link, and lets nobody else read it', async () => {
    const token = await resets.create(ann);
    const [name = ''] = await readdir(dir);
    const text = (await readFile(join(dir, name))).toString('latin1');
    assert.ok(!name.includes(token) && !text.includes(token) && !text.includes('usr_ann'));
    assert.equal((await stat(join(dir, name))).mode & 0o777, 0o600);
    assert.equal((await stat(dir)).mode & 0o777, 0o700);
  });

  it('forgets a link after an hour, and those before a new one', async () => {
    const bob = await resets.create({ ...ann, userId: 'usr_bob' });
    const old = await resets.create(ann);
    const token = await resets.create(ann);
    assert.equal(await resets.find(old), null);
    assert.equal((await resets.find(bob))?.userId, 'usr_bob');
    now += 60 * 60_000;
    assert.equal(await resets.find(token), null);
    assert.equal(await resets.claim(token), null);
    await resets.create(ann);
    assert.equal((await readdir(dir)).length, 1, 'what is too old is removed');
  });

  it('takes no token that is none, and no file that this instance did not seal', async () => {
    const off = ['', '..', '../instance.key', 'a'.repeat(42), 'a'.repeat(43), 'ä'.repeat(43)];
    for (const token of off) assert.equal(await resets.find(token), null, token);
    const token = await resets.create(ann);
    const [name = ''] = await readdir(dir);
    await copyFile(join(dir, name), join(dir, 'f'.repeat(64)));
    const elsewhere = withKeyOf(undefined);
    assert.equal(await elsewhere.find(token), null);
    assert.notEqual(await resets.find(token), null);
  });
});

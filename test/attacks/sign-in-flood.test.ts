/** Wrong sign-ins by the hundred from one network: nobody else has to wait for more than a turn. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Gangway, until } from '../support/gangway.ts';
import { owner } from '../support/gangway-client.ts';

const login =
  'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { viewer { id } } }';
const patienceMs = 30_000;

it('a flood of wrong sign-ins from one network is refused itself, and nobody else is', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-flood-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const held = join(folder, 'held');
  const gangway = await Gangway.open({
    env: { HASHING_HELD_BY: held, GANGWAY_TRUSTED_PROXIES: '127.0.0.1' },
    nodeArgs: ['--import', fileURLToPath(new URL('../support/held-passwords.ts', import.meta.url))],
  });
  t.after(() => gangway.end());
  /** The code of the refusal; undefined for a sign-in. */
  const signIn = (from: string, given: typeof owner): Promise<string | undefined> =>
    gangway.stranger().fails(login, given, { 'x-forwarded-for': from });
  const wrong = (i: number): Promise<string | undefined> =>
    signIn('203.0.113.9', { ...owner, email: `nobody${String(i)}@example.com` });

  writeFileSync(held, '');
  const codes: (string | undefined)[] = [];
  const flood = Array.from({ length: 150 }, async (_, i) => codes.push(await wrong(i)));
  await until('what is too many is refused', patienceMs, () => codes.length >= 48);
  const honest = signIn('198.51.100.7', owner);
  // By its answer, the one before has arrived.
  assert.equal(await wrong(150), 'RATE_LIMITED');
  rmSync(held);
  assert.equal(await honest, undefined);
  await Promise.all(flood);
  const count = (code: string): number => codes.filter((one) => one === code).length;
  const taken = 100 + (availableParallelism() > 2 ? 2 : 1);
  assert.deepEqual([count('RATE_LIMITED'), count('UNAUTHENTICATED')], [150 - taken, taken]);
});

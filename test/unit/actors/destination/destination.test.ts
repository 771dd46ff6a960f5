import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  destinationActorDefinition,
  type DestinationParts,
} from '../../../../src/actors/destination/actor.ts';
import { Leftovers } from '../../../../src/actors/destination/leftovers.ts';
import {
  destinationActor,
  type NewDestination,
  type TestVerdict,
} from '../../../../src/actors/destination/protocol.ts';
import { teamActor } from '../../../../src/actors/team/protocol.ts';
import { recipientOf } from '../../../../src/backups/streams/age/keys.ts';
import { newId } from '../../../../src/lib/ids.ts';
import type { DestinationRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { BucketServer, loopbackFetch } from '../../../support/bucket.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';

const nothing: NewDestination = {
  ...{ name: 'Ours', kind: 'server', path: null, endpoint: null, bucket: null },
  ...{ region: null, accessKey: null, secretKey: null, encrypt: true },
};
const keys = { accessKey: 'access', secretKey: 'very-secret' };

describe('destinations of backups', () => {
  let fixture: AccountsFixture;
  let dir: string;
  let parts: DestinationParts;
  let roots: { dataDir: string; backupRoots: string[] };
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gangway-destinations-'));
    roots = { dataDir: join(dir, 'data'), backupRoots: [join(dir, 'disk'), join(dir, '.a disk')] };
    for (const path of [roots.dataDir, ...roots.backupRoots]) mkdirSync(path);
    fixture = new AccountsFixture();
    fixture.addUser('ada');
    fixture.addTeam('team_one', 'ada');
    const { store: reader, clock, log: logger } = fixture;
    const timing = { silenceMs: 60_000, tries: 2, backoffMs: 1, cleanUpMs: 100 };
    parts = {
      ...{ reader, clock, logger, secrets: plainSecrets, fetch: loopbackFetch },
      ...{ roots, timing, testMs: 60_000 },
    };
    fixture.runtime.register(destinationActorDefinition(parts));
    fixture.runtime.start();
  });
  afterEach(async () => {
    await fixture.runtime.close();
    rmSync(dir, { recursive: true });
  });

  const create = (input: Partial<NewDestination> = {}): Promise<DestinationRecord> =>
    fixture.runtime.ask(teamActor.at('team_one'), {
      type: 'destination-create',
      destinationId: newId('dst'),
      destination: { ...nothing, ...input },
    });
  const test = (id: string): Promise<TestVerdict> =>
    fixture.runtime.ask(destinationActor.at(id), { type: 'test' });
  const remove = (id: string): Promise<boolean> =>
    fixture.runtime.ask(destinationActor.at(id), { type: 'delete' });
  const stored = (id: string): Readonly<DestinationRecord> | undefined =>
    fixture.store.get(tables.destinations, id);
  const createBucket = ({ port }: BucketServer, more: Partial<NewDestination> = {}) =>
    create({
      ...{ kind: 's3', endpoint: `http://127.0.0.1:${String(port)}/`, bucket: 'backups' },
      ...{ accessKey: 'access', secretKey: 'secret', ...more },
    });

  it('have a folder of their own, each', async () => {
    const one = await create();
    const two = await create({ path: 'nightly/apps/' });
    const three = await create({ path: roots.backupRoots[0] ?? '' });
    const four = await create({ path: `${roots.backupRoots[0] ?? ''}/nightly` });
    assert.deepEqual(readdirSync(join(roots.dataDir, 'backups')).sort(), [one.id, 'nightly']);
    assert.deepEqual(readdirSync(join(roots.dataDir, 'backups/nightly/apps')), [two.id]);
    assert.deepEqual(readdirSync(join(dir, 'disk')).sort(), [three.id, 'nightly']);
    assert.deepEqual(readdirSync(join(dir, 'disk/nightly')), [four.id]);
    assert.equal(two.path, 'nightly/apps');
    const five = await create({ path: join(dir, '.a disk', 'x') });
    assert.deepEqual(readdirSync(join(dir, '.a disk', 'x')), [five.id]);
    for (const { id } of [one, two, three, four]) {
      assert.deepEqual(await test(id), { ok: true, error: null });
    }
  });

  it('keep keys and what opens backups sealed, each for its own place', async () => {
    const bucket = await BucketServer.start();
    try {
      const { id, bucket: made, encryption } = await createBucket(bucket, keys);
      const text = (sealed?: Uint8Array): string => Buffer.from(sealed ?? []).toString();
      assert.equal(text(made?.keysSealed), `destination-keys:${id}|${JSON.stringify(keys)}`);
      const key = await fixture.runtime.ask(destinationActor.at(id), { type: 'recovery-key' });
      assert.match(key, /^AGE-SECRET-KEY-1[A-Z0-9]{58}$/);
      assert.equal(text(encryption?.recoveryKeySealed), `destination-recovery:${id}|${key}`);
      assert.equal(recipientOf(key), encryption?.recipient);
    } finally {
      bucket.close();
    }
    const plain = await create({ encrypt: false });
    assert.equal(plain.encryption, null);
    const asked = fixture.runtime.ask(destinationActor.at(plain.id), { type: 'recovery-key' });
    await assert.rejects(asked, { code: 'CONFLICT' });
  });

  it('store what their test found', async () => {
    const bucket = await BucketServer.start();
    const { id } = await createBucket(bucket);
    try {
      assert.deepEqual(await test(id), { ok: true, error: null });
      assert.equal(stored(id)?.lastTestAtMs, fixture.clock.now());
      assert.match(bucket.authorization, /Credential=access\/.*\/us-east-1\/s3\//);
      assert.ok(bucket.calls.some((call) => call === `PUT ${id}/gangway-test`));

      bucket.fault = () => ({ status: 403, code: 'AccessDenied' });
      const { ok, error } = await test(id);
      assert.equal(ok, false);
      assert.match(error ?? '', /denies access/);
      assert.equal(stored(id)?.lastTestError, error);

      bucket.fault = () => 'silence';
      parts.testMs = 50;
      const late = { ok: false, error: 'The destination takes too long.' };
      bucket.calls.length = 0;
      assert.deepEqual(await test(id), late);
      const removals = bucket.calls.filter((call) => call.startsWith('DELETE'));
      assert.equal(removals.length, 1, 'a silent bucket is asked once to remove what was begun');
      bucket.fault = ({ method }) => (method === 'GET' ? 'silence' : undefined);
      assert.deepEqual(await test(id), late);
      assert.deepEqual(bucket.names(), []);
      bucket.fault = () => undefined;
      parts.testMs = 60_000;
      assert.deepEqual(await test(id), { ok: true, error: null });
      assert.equal(stored(id)?.lastTestError, null);
    } finally {
      bucket.close();
    }
    assert.match((await test(id)).error ?? '', /cannot be reached \(ECONNREFUSED\)/);
  });

  it('say in their test that the operator took their folder away', async () => {
    const { id } = await create({ path: join(dir, 'disk') });
    rmSync(join(dir, 'disk', id), { recursive: true });
    assert.match((await test(id)).error ?? '', /is its disk mounted/);
    roots.backupRoots = [];
    assert.match((await test(id)).error ?? '', /backupRoots/);
  });

  it('are deleted without what they hold', async () => {
    const empty = await create();
    const full = await create();
    const folder = join(roots.dataDir, 'backups');
    writeFileSync(join(folder, full.id, 'run_1.gz'), 'x');
    assert.equal(await remove(empty.id), true);
    assert.equal(await remove(full.id), true);
    assert.deepEqual(readdirSync(folder), [full.id]);
    assert.equal(stored(full.id), undefined);
    await assert.rejects(remove(full.id), { code: 'NOT_FOUND' });
    await assert.rejects(test(full.id), { code: 'NOT_FOUND' });
  });

  it('end with their team', async () => {
    const { id } = await create();
    await fixture.runtime.ask(teamActor.at('team_one'), { type: 'team-delete', by: 'ada' });
    assert.equal(stored(id), undefined);
  });

  it('are a hundred in a team at most', async () => {
    for (let made = 0; made < 100; made++) await create({ encrypt: false });
    await assert.rejects(create(), { code: 'CONFLICT', message: /at most 100/ });
  });

  it('lose at start what an earlier process did not finish', async () => {
    const { id } = await create();
    const lost = await create({ path: join(dir, 'disk') });
    rmSync(join(dir, 'disk'), { recursive: true });
    const folder = join(roots.dataDir, 'backups', id);
    writeFileSync(join(folder, 'run_1.gz.part'), 'x');
    writeFileSync(join(folder, 'run_2.gz'), 'x');
    await new Leftovers({ ...parts, writing: new Set() }).remove();
    assert.deepEqual(readdirSync(folder), ['run_2.gz']);
    const told = fixture.log.records.filter(({ event }) => event === 'leftovers_not_removed');
    assert.deepEqual(
      told.map(({ fields }) => (fields as { id: string }).id),
      [lost.id],
    );
  });

  const s3: Partial<NewDestination> = {
    ...{ kind: 's3', endpoint: 'https://s3.example.com', bucket: 'backups', ...keys },
  };
  for (const [what, input] of [
    ['an absolute path outside', { path: '/etc' }],
    ['a path beside a root', { path: '/etc/../tmp' }],
    ['a path that climbs', { path: '../x' }],
    ['a path that climbs later', { path: 'a/../../x' }],
    ['a path with a dot', { path: 'a/./b' }],
    ['a hidden folder', { path: '.ssh' }],
    ['an empty name in a path', { path: 'a//b' }],
    ['a path with a NUL', { path: 'a\0b' }],
    ['the folder of a destination', { path: 'dst_01' }],
    ['a folder in that of a destination', { path: 'nightly/dst_01/x' }],
    ['a path that is too deep', { path: 'a/b/c/d/e/f/g/h/i' }],
    ['an empty name', { name: ' ' }],
    ['a folder with a bucket', { bucket: 'backups' }],
    ['a folder with a key', { secretKey: 'x' }],
    ['a bucket without keys', { ...s3, accessKey: null }],
    ['a bucket without a secret key', { ...s3, secretKey: '' }],
    ['a key with a line break', { ...s3, secretKey: 'a\nb' }],
    ['a bucket without a name', { ...s3, bucket: null }],
    ['a bucket that is a path', { ...s3, bucket: 'a/../b' }],
    ['a region that is a host', { ...s3, region: 'x.example.com/' }],
    ['a prefix that climbs', { ...s3, path: '../other' }],
    ['an absolute prefix', { ...s3, path: '/other' }],
    ['an endpoint that is no URL', { ...s3, endpoint: 'nothing' }],
    ['an endpoint with a login', { ...s3, endpoint: 'https://a:b@s3.example.com' }],
    ['an endpoint with a query', { ...s3, endpoint: 'https://s3.example.com/?x=1' }],
    ['an endpoint of another kind', { ...s3, endpoint: 'file:///etc/passwd' }],
    ['an endpoint in a private network', { ...s3, endpoint: 'https://10.0.0.1' }],
    ['an endpoint with metadata of a cloud', { ...s3, endpoint: 'http://169.254.169.254' }],
    ['plain http to the internet', { ...s3, endpoint: 'http://1.1.1.1' }],
  ] as const) {
    it(`refuse ${what}`, async () => {
      await assert.rejects(create(input), { code: 'BAD_USER_INPUT' });
      assert.deepEqual(readdirSync(roots.dataDir), []);
    });
  }

  for (const climbing of ['..', '../data', 'a/../../data', './a', '/a', 'dst_01/x']) {
    it(`refuse ${climbing} below a folder of the operator`, async () => {
      const path = `${join(dir, 'disk')}/${climbing}`;
      await assert.rejects(create({ path }), { code: 'BAD_USER_INPUT' });
    });
  }

  it('are not where the name of a folder of the operator only begins alike', async () => {
    await assert.rejects(create({ path: join(dir, 'disk2') }), { code: 'BAD_USER_INPUT' });
  });
});

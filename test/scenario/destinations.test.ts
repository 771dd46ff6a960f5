/** Destinations of backups, as a team makes, tests and deletes them. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { type RunningS3rver, s3rverKey, startS3rver } from '../support/s3rver.ts';

interface Destination {
  id: string;
  kind: string;
  path: string | null;
  endpoint: string | null;
  bucket: string | null;
  region: string | null;
  encrypted: boolean;
  lastTestAt: string | null;
  lastTestError: string | null;
}

interface Verdict {
  ok: boolean;
  error: string | null;
}

const create = `mutation($input: CreateDestinationInput!) { createDestination(input: $input) {
  id name kind path endpoint bucket region encrypted lastTestAt lastTestError
} }`;
const list = '{ backupDestinations { id lastTestAt lastTestError } }';
/** The only address of a private network that is admitted. */
const admitted = '127.0.0.3';
const secretKey = 'a-key-that-nobody-is-shown';

describe('destinations of backups', () => {
  const disk = mkdtempSync(join(tmpdir(), 'gangway-disk-'));
  let gangway: Gangway | undefined;
  let store: RunningS3rver | undefined;
  before(async () => {
    store = await startS3rver('backups', admitted);
    gangway = await Gangway.open({
      env: { GANGWAY_BACKUP_ROOTS: disk, GANGWAY_PRIVATE_NETWORKS: `${admitted}/32` },
    });
  });
  after(async () => {
    await gangway?.end();
    await store?.close();
    rmSync(disk, { recursive: true, force: true });
  });

  const running = (): Gangway => {
    assert.ok(gangway);
    return gangway;
  };
  const made = async (input: object): Promise<Destination> => {
    const variables = { input: { name: 'Nightly', ...input } };
    const { client } = running();
    return (await client.must<{ createDestination: Destination }>(create, variables))
      .createDestination;
  };
  const refused = async (input: object): Promise<string> => {
    const variables = { input: { name: 'Nightly', ...input } };
    const { errors } = await running().client.graphql(create, variables);
    assert.equal(errors[0]?.extensions.code, 'BAD_USER_INPUT');
    return errors[0].message;
  };
  const tested = async (id: string): Promise<Verdict> => {
    const text = 'mutation($id: ID!) { testDestination(id: $id) { ok error } }';
    return (await running().client.must<{ testDestination: Verdict }>(text, { id }))
      .testDestination;
  };
  const bucketAt = (host: string, more: object = {}): object => ({
    ...{ kind: 's3', endpoint: `http://${host}:${String(store?.port)}`, bucket: 'backups' },
    ...{ accessKey: s3rverKey, secretKey: s3rverKey, ...more },
  });

  it('are folders in the data directory', async () => {
    const { id, ...shown } = await made({ kind: 'server' });
    assert.match(id, /^dst_/);
    assert.deepEqual(shown, {
      ...{ name: 'Nightly', kind: 'server', path: null, endpoint: null, bucket: null },
      ...{ region: null, encrypted: true, lastTestAt: null, lastTestError: null },
    });
    assert.deepEqual(await tested(id), { ok: true, error: null });
    const found = await running().client.must<{ backupDestinations: Destination[] }>(list);
    const [listed] = found.backupDestinations.filter((one) => one.id === id);
    assert.ok(Date.parse(listed?.lastTestAt ?? '') > 0);
    assert.deepEqual(readdirSync(join(running().dataDir, 'backups')), [id]);
  });

  it('backupRoots names the folders besides our own in which backups may be', async () => {
    const { id } = await made({ kind: 'server', path: `${disk}/teams` });
    assert.deepEqual(await tested(id), { ok: true, error: null });
    assert.deepEqual(readdirSync(join(disk, 'teams')), [id]);
    assert.match(await refused({ kind: 'server', path: '/tmp' }), /backupRoots/);
    assert.match(await refused({ kind: 'server', path: running().dataDir }), /backupRoots/);
  });

  it('are buckets, with a store that looks at signatures', async () => {
    const { id } = await made(bucketAt(admitted));
    assert.deepEqual(await tested(id), { ok: true, error: null });
    const wrong = await made(bucketAt(admitted, { secretKey }));
    const verdict = await tested(wrong.id);
    assert.equal(verdict.ok, false);
    assert.match(verdict.error ?? '', /check secretKey and region/);
  });

  it('privateNetworks admits buckets in a private network, and nothing of ours', async () => {
    assert.match(await refused(bucketAt('127.0.0.4')), /not public/);
    const { port, edgePort } = running();
    for (const own of [port, edgePort]) {
      const endpoint = `http://${admitted}:${String(own)}`;
      assert.match(await refused(bucketAt('', { endpoint })), /not public/);
    }
    // A name is looked up when it is connected to.
    const { id } = await made(bucketAt('localhost'));
    assert.match((await tested(id)).error ?? '', /cannot be used: Its address is not public/);
  });

  it('show the key that opens their backups to who asks for it, and no other', async () => {
    const { id } = await made(bucketAt(admitted, { secretKey }));
    const { client, dataDir } = running();
    const text = 'mutation($id: ID!) { destinationRecoveryKey(id: $id) }';
    const { destinationRecoveryKey: key } = await client.must<{ destinationRecoveryKey: string }>(
      text,
      { id },
    );
    assert.match(key, /^AGE-SECRET-KEY-1/);
    await client.must('mutation($id: ID!) { deleteDestination(id: $id) }', { id });
    const { activity } = await client.must<{ activity: { nodes: { action: string }[] } }>(
      '{ activity(first: 10) { nodes { action target details } } }',
    );
    const told = JSON.stringify(activity.nodes.slice(0, 3));
    assert.deepEqual(
      activity.nodes.slice(0, 3).map(({ action }) => action),
      ['deleteDestination', 'destinationRecoveryKey', 'createDestination'],
    );
    assert.ok(told.includes(`destination:${id} Nightly`), told);
    const kept = readFileSync(join(dataDir, 'store', 'data.mdb'));
    for (const text of [told, kept.toString('latin1'), running().output]) {
      assert.ok(!text.includes(secretKey) && !text.includes(key));
    }
  });

  it('lose at start what was not finished', async () => {
    const { id } = await made({ kind: 'server' });
    const folder = join(running().dataDir, 'backups', id);
    for (const name of ['run_1.gz.age.part', 'run_2.gz.age']) writeFileSync(join(folder, name), '');
    await running().kill9();
    await running().start();
    await eventually('the leftover is gone', () => !existsSync(join(folder, 'run_1.gz.age.part')));
    assert.deepEqual(readdirSync(folder), ['run_2.gz.age']);
  });
});

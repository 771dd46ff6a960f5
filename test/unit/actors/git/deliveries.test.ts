import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gitDefinition } from '../../../../src/actors/git/actor.ts';
import {
  openGitToken,
  openWebhookSecret,
  remoteOfConnection,
} from '../../../../src/actors/git/connection.ts';
import { gitActor, type NewConnection } from '../../../../src/actors/git/protocol.ts';
import { wakeDeliveries } from '../../../../src/actors/git/wake.ts';
import { gitWebhookRoutes } from '../../../../src/gateway/transports/git-webhooks.ts';
import { DeliveryReader } from '../../../../src/git/deliveries/delivery-reader.ts';
import { webhookToken } from '../../../../src/git/deliveries/webhook-token.ts';
import { newId } from '../../../../src/lib/ids.ts';
import type {
  GitConnectionRecord,
  GitDeliveryRecord,
} from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { hmac } from '../../../conformance/git-provider.suite.ts';
import { type AppFixture, appFixture } from '../../../support/app-fixture.ts';
import { loopbackFetch } from '../../../support/bucket.ts';
import { eventually } from '../../../support/eventually.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';

const webhookKey = 'ab'.repeat(32);
const secret = 'very secret';
const nothing: NewConnection = {
  ...{ provider: 'gitea', label: 'Ours', baseUrl: 'https://git.example.com/' },
  ...{ token: 'token', username: null, webhookSecret: secret },
};
const sha = (commit: number): string => commit.toString(16).padStart(40, '0');
const hourMs = 3_600_000;

interface Push {
  id?: string | null;
  branch?: string;
  before?: number;
  after?: number;
  message?: string;
  repository?: string;
  files?: string[];
}

describe('deliveries of git providers', () => {
  let f: AppFixture;
  let gateway: TestGateway;
  const clock = new ManualClock();

  const serve = async (keptMax?: number): Promise<void> => {
    const parts = { reader: f.store, clock, logger: f.logger, secrets: plainSecrets, webhookKey };
    const more = { fetch: loopbackFetch, ...(keptMax !== undefined && { keptMax }) };
    f.runtime().register(gitDefinition({ ...parts, ...more }));
    gateway = await startGateway(
      gitWebhookRoutes({
        actors: f.runtime(),
        reader: f.store,
        deliveries: new DeliveryReader(),
        secretOf: (connection) => openWebhookSecret(plainSecrets, connection),
      }),
    );
  };
  beforeEach(async () => {
    // The commit stays the one that was delivered.
    const fetched = { sha: '', author: '', message: '' };
    f = await appFixture({ fetch: () => Promise.resolve(fetched) });
    await serve();
  });
  afterEach(async () => {
    await gateway.close();
    await f.close();
  });
  const crash = async (): Promise<void> => {
    await gateway.close();
    await f.crash();
    await serve();
    wakeDeliveries(f.store, f.runtime());
  };

  const connect = (input: Partial<NewConnection> = {}): Promise<GitConnectionRecord> =>
    f.runtime().ask(gitActor.at(newId('gc')), {
      ...{ type: 'create', teamId: 'team_1', connection: { ...nothing, ...input } },
    });
  /** An app of the repository. */
  const appOf = async (connectionId: string, repository = 'acme/shop'): Promise<string> => {
    const git = { connectionId, repository, branch: 'main', path: null };
    const { id } = await f.create({ source: 'GIT', git });
    return id;
  };
  const bodyOf = ({ files, ...push }: Push) => {
    const { branch = 'main', before = 1, after = 2, message = 'x', repository } = push;
    const id = sha(after);
    const head = { id, message, timestamp: new Date(after * 1000).toISOString() };
    return JSON.stringify({
      ...{ ref: `refs/heads/${branch}`, before: sha(before), after: id, head_commit: head },
      ...{ repository: { full_name: repository ?? 'acme/shop' }, pusher: { login: 'ada' } },
      ...(files && { commits: [{ id, added: [], modified: files, removed: [] }] }),
    });
  };
  const post = async (
    connectionId: string,
    body: string,
    headers: Record<string, string>,
  ): Promise<{ status: number; text: string }> => {
    const token = webhookToken(webhookKey, connectionId);
    const url = `${gateway.url}/api/git/webhook/${token}`;
    const response = await fetch(url, { method: 'POST', body, headers });
    return { status: response.status, text: await response.text() };
  };
  const deliver = async (connectionId: string, push: Push = {}): Promise<void> => {
    const body = bodyOf(push);
    const { id = newId('dlv') } = push;
    const answer = await post(connectionId, body, {
      'x-gitea-event': 'push',
      ...(id !== null && { 'x-gitea-delivery': id }),
      'x-gitea-signature': hmac(Buffer.from(body), secret),
    });
    assert.deepEqual(answer, { status: 200, text: 'ok' });
  };
  const deliveriesOf = (appId: string): Readonly<GitDeliveryRecord>[] =>
    f.store.list(tables.gitDeliveries, 'app', [appId], { limit: Infinity });
  const settled = async (appId: string): Promise<Readonly<GitDeliveryRecord>[]> => {
    const all = (): Readonly<GitDeliveryRecord>[] => deliveriesOf(appId);
    await eventually('looked at', () => all().every(({ outcome }) => outcome !== 'received'));
    return all();
  };
  const outcomesOf = async (appId: string): Promise<string[]> =>
    (await settled(appId)).map(({ outcome }) => outcome);
  const deploymentsOf = (appId: string) =>
    f.store.list(tables.deployments, 'app', [appId], { limit: Infinity });
  /** Waits until everything is deployed; the commits, in order. */
  const deployed = async (appId: string): Promise<(string | null)[]> => {
    await settled(appId);
    const isDone = (): boolean => deploymentsOf(appId).every((one) => one.finishedAtMs !== null);
    await eventually('deployed', isDone);
    for (const { status, error } of deploymentsOf(appId))
      assert.equal(status, 'ready', error ?? '');
    return deploymentsOf(appId).map(({ commitSha }) => commitSha);
  };

  it('deploy the commit of the branch of the app, once', async () => {
    const { id } = await connect();
    const appId = await appOf(id);
    await deliver(id, { id: 'one', message: 'Add prices' });
    assert.deepEqual(await deployed(appId), [sha(2)]);
    const [deployment] = deploymentsOf(appId);
    assert.equal(deployment?.trigger, 'git_push');
    assert.deepEqual([deployment.branch, deployment.commitMessage], ['main', 'Add prices']);
    const [delivery] = deliveriesOf(appId);
    assert.equal(delivery?.deploymentId, deployment.id);
    assert.deepEqual([delivery.outcome, delivery.pusher], ['deployed', 'ada']);
    // The same delivery, and the same commit in another.
    for (let i = 0; i < 3; i++) await deliver(id, { id: 'one' });
    await deliver(id, { id: 'two' });
    await deliver(id, { id: null });
    assert.deepEqual(await outcomesOf(appId), ['deployed', 'unchanged', 'unchanged']);
    assert.equal(deploymentsOf(appId).length, 1);
  });

  it('deploy nothing for other branches, repositories, tags, deletions, and what says so', async () => {
    const { id } = await connect();
    const appId = await appOf(id);
    const otherId = await appOf(id, 'acme/other');
    await deliver(id, { branch: 'feature' });
    await deliver(id, { repository: 'acme/third' });
    await deliver(id, { after: 3, message: 'Docs [skip ci]' });
    await deliver(id, { before: 3, after: 0 });
    const outcomes = ['other_branch', 'skipped', 'branch_deleted'];
    assert.deepEqual(await outcomesOf(appId), outcomes);
    await f.ask(appId, { type: 'update', patch: { autoDeploy: false } });
    await deliver(id, { before: 0, after: 4 });
    assert.deepEqual(await outcomesOf(appId), [...outcomes, 'auto_deploy_off']);
    assert.deepEqual([deploymentsOf(appId), deploymentsOf(otherId)], [[], []]);
  });

  it('deploy only what changes something that the app watches, as far as that is known', async () => {
    const { id } = await connect();
    const appId = await appOf(id);
    const git = { connectionId: id, repository: 'acme/shop', branch: 'main', path: null };
    const watchPaths = ['apps/web/', 'package.json'];
    await f.ask(appId, { type: 'update', patch: { git: { ...git, watchPaths } } });
    assert.deepEqual(f.app(appId).git?.watchPaths, ['apps/web', 'package.json']);
    const docs = { files: ['docs/readme.md'] };
    // Nobody knows what was before it.
    await deliver(id, { before: 1, after: 2, ...docs });
    await deployed(appId);
    await deliver(id, { before: 2, after: 3, ...docs });
    await deliver(id, { before: 3, after: 4, files: ['apps/web/index.html'] });
    await deployed(appId);
    await deliver(id, { before: 4, after: 5, ...docs });
    // A delivery between was lost.
    await deliver(id, { before: 6, after: 7, ...docs });
    await deployed(appId);
    await deliver(id, { before: 7, after: 8 });
    await deployed(appId);
    // What was left out may have changed what is watched.
    await deliver(id, { before: 8, after: 9, message: '[skip ci]', files: ['package.json'] });
    await deliver(id, { before: 9, after: 10, ...docs });
    assert.deepEqual(await deployed(appId), [2, 4, 7, 8, 10].map(sha));
    assert.deepEqual(
      await outcomesOf(appId),
      'deployed unwatched deployed unwatched deployed deployed skipped deployed'.split(' '),
    );
  });

  it('end with the newest commit of each app, deployed once, in a storm of deliveries', async () => {
    const { id } = await connect();
    const apps = await Promise.all(
      Array.from({ length: 5 }, (_, i) => appOf(id, `acme/shop-${String(i)}`)),
    );
    const pushes = apps.flatMap((_, i) =>
      Array.from({ length: 10 }, (_, k) => ({
        ...{ repository: `acme/shop-${String(i)}`, before: k, after: k + 1 },
        id: `push-${String(i)}-${String(k)}`,
      })),
    );
    const storm = Array.from({ length: 1_000 }, (_, i) => pushes[(i * 7) % pushes.length] as Push);
    for (let at = 0; at < storm.length; at += 25) {
      await Promise.all(storm.slice(at, at + 25).map((push) => deliver(id, push)));
    }
    for (const appId of apps) {
      const commits = await deployed(appId);
      assert.equal(commits.at(-1), sha(10));
      assert.equal(commits.filter((commit) => commit === sha(10)).length, 1);
      assert.equal(deliveriesOf(appId).length, 10);
    }
  });

  it('are handed on after a crash between the journal and the queue', async () => {
    const { id } = await connect();
    const appId = await appOf(id);
    await deliver(id);
    const [delivery] = await settled(appId);
    assert.ok(delivery);
    const late = {
      ...delivery,
      id: newId('dlv', clock.now() + 1),
      before: sha(2),
      commitSha: sha(3),
    };
    f.store.write([
      put(tables.gitDeliveries, { ...late, outcome: 'received', deploymentId: null }),
    ]);
    await crash();
    assert.equal((await deployed(appId)).at(-1), sha(3));
    assert.deepEqual(await outcomesOf(appId), ['deployed', 'deployed']);
    await crash();
    assert.equal(deploymentsOf(appId).length, 2);
    // What moved the branch is known to the next activation too.
    await clock.advance(1_000);
    await deliver(id, { before: 1, after: 2 });
    assert.equal((await outcomesOf(appId)).at(-1), 'outdated');
  });

  it('are deployed again by hand, whatever was deployed before, and only for the branch', async () => {
    const { id } = await connect();
    const appId = await appOf(id);
    await deliver(id);
    await deliver(id, { before: 2, after: 3 });
    await deliver(id, { branch: 'feature', after: 4 });
    await deployed(appId);
    const [first, , feature] = await settled(appId);
    assert.ok(first && feature);
    const again = await f.ask(appId, { type: 'git-push', delivery: first, byHand: true });
    assert.notEqual(again.id, first.id);
    assert.equal((await deployed(appId)).at(-1), sha(2));
    assert.equal(f.deployment(again.deploymentId ?? '').commitSha, sha(2));
    const elsewhere = f.ask(appId, { type: 'git-push', delivery: feature, byHand: true });
    await assert.rejects(elsewhere, { code: 'CONFLICT' });
  });

  it('are refused without their signature, for an unknown address, and for what is no delivery', async () => {
    const { id } = await connect();
    const appId = await appOf(id);
    const body = bodyOf({});
    const signed = (text: string) => ({
      ...{ 'x-gitea-event': 'push', 'x-gitea-signature': hmac(Buffer.from(text), secret) },
    });
    assert.equal((await post('gc_none', body, signed(body))).status, 404);
    assert.equal((await post(id, body, { 'x-gitea-event': 'push' })).status, 401);
    assert.equal((await post(id, `${body} `, signed(body))).status, 401);
    assert.equal((await post(id, '{', signed('{'))).status, 400);
    assert.equal((await post(id, '', signed(''))).status, 400);
    const odd = bodyOf({ branch: '--upload-pack=x' });
    assert.equal((await post(id, odd, signed(odd))).status, 400);
    const open = await connect({ webhookSecret: null });
    assert.equal((await post(open.id, body, signed(body))).status, 401);
    assert.deepEqual(deliveriesOf(appId), []);
    const ping = { ...signed(body), 'x-gitea-event': 'issues' };
    assert.deepEqual(await post(id, body, ping), { status: 200, text: 'ok' });
  });

  it('are taken up to 25 MiB, and judged by every byte', async () => {
    const { id } = await connect();
    const appId = await appOf(id);
    const long = (bytes: number): string => {
      const head = JSON.parse(bodyOf({})) as object;
      return JSON.stringify({ ...head, commits: [{ message: 'x'.repeat(bytes) }] });
    };
    const send = (body: string, signature: string) =>
      post(id, body, { 'x-gitea-event': 'push', 'x-gitea-signature': signature });
    const body = long(24 * 2 ** 20);
    const signature = hmac(Buffer.from(body), secret);
    assert.equal((await send(`${body.slice(0, -1)} `, signature)).status, 401);
    assert.equal(
      (await send('{'.repeat(300_000), hmac(Buffer.from('{'.repeat(300_000)), secret))).status,
      400,
    );
    assert.deepEqual(await send(body, signature), { status: 200, text: 'ok' });
    assert.deepEqual(await deployed(appId), [sha(2)]);
    assert.equal((await send(long(26 * 2 ** 20), signature)).status, 413);
  });

  it('of a generic provider without a secret count by their address alone', async () => {
    const { id } = await connect({ provider: 'generic', webhookSecret: null });
    const appId = await appOf(id);
    assert.equal((await post(id, bodyOf({}), {})).status, 200);
    assert.deepEqual(await deployed(appId), [sha(2)]);
  });

  it('are forgotten after 72 hours, and beyond a number', async () => {
    await gateway.close();
    await f.crash();
    await serve(4);
    const { id } = await connect();
    const appId = await appOf(id);
    await deliver(id, { id: 'one', before: 1, after: 2 });
    await settled(appId);
    await clock.advance(72 * hourMs + 1);
    await deliver(id, { id: 'one', before: 2, after: 3 });
    assert.deepEqual(await outcomesOf(appId), ['deployed']);
    for (let k = 3; k < 10; k++) await deliver(id, { before: k, after: k + 1 });
    assert.ok((await settled(appId)).length <= 5);
    assert.equal((await deployed(appId)).at(-1), sha(10));
  });

  it('come for apps whose repository is one of the connection alone', async () => {
    const { id } = await connect();
    await appOf(id, 'https://git.example.com/acme/shop.git');
    for (const repository of ['https://evil.example/acme/shop', 'acme', '../acme/shop', 'push']) {
      await assert.rejects(appOf(id, repository), { code: 'BAD_USER_INPUT' }, repository);
    }
    await assert.rejects(appOf('gc_none'), { code: 'BAD_USER_INPUT', message: /of the team/ });
  });

  it('and connections keep their secrets sealed, and go with them', async () => {
    const record = await connect({ username: ' ada ' });
    assert.equal(record.baseUrl, 'https://git.example.com');
    const text = (sealed: Uint8Array | null): string => Buffer.from(sealed ?? []).toString();
    assert.equal(text(record.tokenSealed), `git-token:${record.id}|token`);
    assert.equal(text(record.secretSealed), `git-webhook-secret:${record.id}|${secret}`);
    assert.deepEqual(remoteOfConnection(record, 'acme/shop', openGitToken(plainSecrets, record)), {
      url: 'https://git.example.com/acme/shop.git',
      credentials: { username: 'ada', secret: 'token' },
    });
    const appId = await appOf(record.id);
    await deliver(record.id);
    await deployed(appId);
    await f.runtime().ask(gitActor.at(record.id), { type: 'delete' });
    assert.deepEqual(deliveriesOf(appId), []);
    assert.equal((await post(record.id, bodyOf({}), {})).status, 404);
    for (const [input, words] of [
      [{ provider: 'svn' }, /^provider must be one of gitlab/],
      [{ provider: 'github' }, /^provider must be one of/],
      [{ label: ' ' }, /label/],
      [{ baseUrl: 'ftp://x' }, /^baseUrl cannot be used/],
      [{ baseUrl: 'https://user:pass@x.example' }, /^baseUrl cannot be used/],
      [{ baseUrl: 'https://169.254.169.254/' }, /^baseUrl cannot be used/],
      [{ baseUrl: 'https://x.example/?a=b' }, /^baseUrl must be/],
      [{ token: 'a\nb' }, /^token has/],
      [{ username: 'a:b' }, /^username has/],
    ] as const) {
      await assert.rejects(connect(input), { code: 'BAD_USER_INPUT', message: words });
    }
  });
});

describe('POST /api/github/webhook', () => {
  it('takes nothing unsigned, and ignores an App that it does not know', async () => {
    const none = {} as Parameters<typeof gitWebhookRoutes>[0];
    const gateway = await startGateway(gitWebhookRoutes(none));
    const send = async (headers: Record<string, string>) => {
      const url = `${gateway.url}/api/github/webhook`;
      const answer = await fetch(url, { method: 'POST', body: '{}', headers });
      return [answer.status, answer.status === 202 ? await answer.text() : ''];
    };
    assert.deepEqual(await send({}), [401, '']);
    assert.deepEqual(await send({ 'x-hub-signature-256': 'sha256=ab' }), [401, '']);
    const signature = `sha256=${hmac(Buffer.from('{}'), secret)}`;
    assert.deepEqual(await send({ 'x-hub-signature-256': signature }), [202, 'ignored']);
    await gateway.close();
  });
});

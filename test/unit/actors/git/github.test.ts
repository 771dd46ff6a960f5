import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gitDefinition } from '../../../../src/actors/git/actor.ts';
import { CommitStatuses } from '../../../../src/actors/git/commit-statuses.ts';
import { openWebhookSecret } from '../../../../src/actors/git/connection.ts';
import { gitActor } from '../../../../src/actors/git/protocol.ts';
import { gitWebhookRoutes } from '../../../../src/gateway/transports/git-webhooks.ts';
import type { CommitStatus } from '../../../../src/git/providers/provider.ts';
import { DeliveryReader } from '../../../../src/git/deliveries/delivery-reader.ts';
import { newId } from '../../../../src/lib/ids.ts';
import type { DeploymentRecord, GitSource } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { hmac } from '../../../conformance/git-provider.suite.ts';
import { type AppFixture, appFixture } from '../../../support/app-fixture.ts';
import { loopbackFetch } from '../../../support/bucket.ts';
import { eventually } from '../../../support/eventually.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';

const file = new URL('../../../fixtures/git/github/push.json', import.meta.url);
const pushed = JSON.parse(readFileSync(file, 'utf8')) as {
  headers: Record<string, string>;
  body: { after: string };
};
const sha = pushed.body.after;
const appId = Number(pushed.headers['x-github-hook-installation-target-id']);

describe('a GitHub App', () => {
  const clock = new ManualClock();
  let f: AppFixture;
  let gateway: TestGateway;
  let told: string[];
  /** What GitHub does with a status. */
  let report: () => Promise<void>;
  let fetched: () => Promise<void>;

  beforeEach(async () => {
    told = [];
    report = () => Promise.resolve();
    fetched = () => Promise.resolve();
    f = await appFixture({
      fetch: async ({ found }) => {
        await fetched();
        const commit = { sha, author: 'Ada', message: 'Add prices' };
        await found(commit);
        return commit;
      },
      tellStatus: (app, deployment) => statuses.tell(app, deployment),
    });
    const reporting = {
      report: async (
        _connection: unknown,
        repository: string,
        commit: string,
        { state, context, url }: CommitStatus,
      ) => {
        await report();
        told.push([repository, commit.slice(0, 4), state, context, url].join(' '));
      },
    };
    const { store: reader, logger } = f;
    const statuses = new CommitStatuses({
      ...{ reader, github: reporting, clock, logger },
      ...{ secrets: plainSecrets, fetch: loopbackFetch },
    });
    f.runtime().register(
      gitDefinition({
        ...{ reader, clock, logger, secrets: plainSecrets, fetch: loopbackFetch },
        webhookKey: 'ab'.repeat(32),
      }),
    );
    gateway = await startGateway(
      gitWebhookRoutes({
        actors: f.runtime(),
        reader,
        deliveries: new DeliveryReader(),
        secretOf: (connection) => openWebhookSecret(plainSecrets, connection),
      }),
    );
  });
  afterEach(async () => {
    await gateway.close();
    await f.close();
  });

  const connect = async (webhookSecret = 'secret'): Promise<string> => {
    const app = {
      ...{ appId, owner: 'acme', htmlUrl: 'https://github.example.com/apps/x' },
      ...{ privateKey: 'pem', webhookSecret },
    };
    const connection = { baseUrl: 'https://github.example.com', app };
    const message = { type: 'create', teamId: 'team_1', connection } as const;
    return (await f.runtime().ask(gitActor.at(newId('gc')), message)).id;
  };
  const appOf = async (connectionId: string): Promise<string> => {
    const repository = 'https://github.example.com/acme/shop.git';
    const git = { connectionId, repository, branch: 'main', path: null };
    return (await f.create({ source: 'GIT', git, name: 'Shop' })).id;
  };
  const deliver = async (headers: Record<string, string> = {}, secret = 'secret') => {
    const body = JSON.stringify(pushed.body);
    const signature = `sha256=${hmac(Buffer.from(body), secret)}`;
    const response = await fetch(`${gateway.url}/api/github/webhook`, {
      method: 'POST',
      body,
      headers: { ...pushed.headers, 'x-hub-signature-256': signature, ...headers },
    });
    return `${String(response.status)} ${await response.text()}`;
  };
  const deployments = (id: string): Readonly<DeploymentRecord>[] =>
    f.store.list(tables.deployments, 'app', [id]);
  const finished = async (id: string): Promise<Readonly<DeploymentRecord>> => {
    await eventually('finished', () => deployments(id)[0]?.finishedAtMs != null);
    const [deployment] = deployments(id);
    assert.ok(deployment);
    return deployment;
  };

  it('delivers pushes that deploy, once each, and nothing else', async () => {
    const id = await appOf(await connect());
    assert.equal(await deliver({ 'x-github-event': 'ping' }), '200 ok');
    assert.equal(await deliver({ 'x-github-event': 'installation' }), '200 ok');
    assert.deepEqual(deployments(id), []);
    assert.equal(await deliver(), '200 ok');
    assert.equal(await deliver(), '200 ok');
    const { trigger, commitSha, status } = await finished(id);
    assert.deepEqual([trigger, commitSha, status], ['git_push', sha, 'ready']);
    assert.equal(deployments(id).length, 1);
  });

  it('is known by its number and its secret; another one is ignored', async () => {
    const target = 'x-github-hook-installation-target-';
    assert.equal(await deliver(), '202 ignored');
    const id = await appOf(await connect());
    assert.match(await deliver({}, 'another'), /^401 /);
    assert.match(await deliver({ 'x-hub-signature-256': '' }), /^401 /);
    assert.equal(await deliver({ [`${target}id`]: String(appId + 1) }), '202 ignored');
    assert.equal(await deliver({ [`${target}id`]: `${String(appId)}.0` }), '202 ignored');
    assert.equal(await deliver({ [`${target}type`]: 'repository' }), '202 ignored');
    assert.deepEqual(deployments(id), []);
    // Another GitHub Enterprise may number one of its own alike.
    const other = await appOf(await connect('another'));
    assert.equal(await deliver({}, 'another'), '200 ok');
    assert.equal((await finished(other)).status, 'ready');
    assert.deepEqual(deployments(id), []);
  });

  it('tells at the commit what becomes of its deployment', async () => {
    const id = await appOf(await connect());
    await deliver();
    const { url } = await finished(id);
    const at = (state: string): string =>
      `acme/shop ${sha.slice(0, 4)} ${state} gangway/${f.app(id).slug} ${String(url)}`;
    await eventually('told', () => told.length === 2);
    assert.deepEqual(told, [at('pending'), at('success')]);
    fetched = () => Promise.reject(new Error('gone'));
    const again = await f.ask(id, { type: 'redeploy', trigger: 'api', commitSha: sha });
    await f.until(again.id, 'failed');
    await eventually('told', () => told.length === 3);
    assert.equal(told[2], at('failure'));
  });

  it('opens previews of other branches, and tells their address at the commit', async () => {
    const id = await appOf(await connect());
    const git = { ...f.app(id).git, branch: 'trunk' } as GitSource;
    await f.ask(id, { type: 'update', patch: { git, previewBranches: ['ma*'] } });
    assert.equal(await deliver(), '200 ok');
    await eventually('told', () => told.length === 2);
    const address = 'gangway/main-shop http://main-shop.test';
    assert.equal(told[1], `acme/shop ${sha.slice(0, 4)} success ${address}`);
    assert.deepEqual(deployments(id), []);
    const [delivery] = f.store.list(tables.gitDeliveries, 'app', [id]);
    assert.deepEqual([delivery?.outcome, delivery?.refName], ['preview', 'main']);
  });

  it('holds nothing up where GitHub does not answer', async () => {
    report = () => new Promise(() => undefined);
    const id = await appOf(await connect());
    await deliver();
    assert.equal((await finished(id)).status, 'ready');
    assert.deepEqual(told, []);
  });

  it('is tried again, and logged where it does not take a status', async () => {
    let tries = 0;
    report = () => {
      tries += 1;
      return tries === 2 ? Promise.resolve() : Promise.reject(new Error('busy'));
    };
    const id = await appOf(await connect());
    await deliver();
    assert.equal((await finished(id)).status, 'ready');
    await eventually('tried', () => tries === 1);
    await settle();
    await clock.advance(1_000);
    await eventually('told', () => told.length === 1);
    for (const [seen, waitMs] of [
      [3, 1_000],
      [4, 10_000],
    ] as const) {
      await eventually('tried', () => tries === seen);
      await settle();
      await clock.advance(waitMs);
    }
    const logged = (): boolean =>
      f.logger.records.some(({ event }) => event === 'commit_status_not_told');
    await eventually('logged', logged);
    assert.match(told[0] ?? '', /pending/);
    assert.equal(told.length, 1);
  });
});

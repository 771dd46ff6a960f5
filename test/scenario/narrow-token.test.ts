import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { packed } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { SseParser } from '../support/sse-parser.ts';

const capabilities = [
  'create_apps',
  'configure_apps',
  'deploy_apps',
  'control_apps',
  'delete_apps',
  'manage_env',
  'reveal_secrets',
  'manage_folders',
  'manage_tokens',
  'manage_team',
  'view_logs',
];

/** A subscription of a program, until it ends. */
class Subscription {
  readonly data: { data?: Record<string, unknown>; errors?: unknown[] }[] = [];
  status = 0;
  ended = false;
  readonly #abort = new AbortController();

  constructor(url: string, token: string, query: string) {
    this.#follow(url, token, query).catch(() => {
      this.ended = true; // Cut, which is an end too.
    });
  }

  close(): void {
    this.#abort.abort();
  }

  async #follow(url: string, token: string, query: string): Promise<void> {
    const response = await fetch(`${url}/api/graphql`, {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query }),
      signal: this.#abort.signal,
    });
    this.status = response.status;
    const parser = new SseParser();
    for await (const bytes of response.body ?? []) {
      for (const { event, data } of parser.push(bytes as Uint8Array)) {
        if (event === 'next') this.data.push(JSON.parse(data) as (typeof this.data)[number]);
      }
    }
    this.ended = true;
  }
}

describe('a token for one app', () => {
  let gangway: Gangway;
  let client: Client;
  let own: AppInfo;
  let other: AppInfo;
  let ownDeployment: string;
  let otherDeployment: string;
  let folderId: string;
  let program: Client;
  let bearer: { authorization: string };
  let secret: string;

  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
    const made = await client.must<{ createFolder: { id: string } }>(
      'mutation { createFolder(name: "Elsewhere") { id } }',
    );
    folderId = made.createFolder.id;
    own = await client.createApp('Own');
    other = await client.createApp('Other', { folderId, env: [{ key: 'KEY', value: 'hidden' }] });
    for (const { id } of [own, other]) await client.mustUpload(id, packed('procfile'));
    ownDeployment = await client.deployed(own.id);
    otherDeployment = await client.deployed(other.id);
    secret = await client.token({ capabilities, appIds: [own.id] });
    bearer = { authorization: `Bearer ${secret}` };
    program = gangway.stranger();
  });
  after(() => gangway.end());

  it('sees its app in every list, and counts nothing else', async () => {
    const seen = await program.must(
      `{ apps { totalCount nodes { id } pageInfo { hasNextPage } } folders { id } trash { id }
         found: apps(search: "o") { totalCount } elsewhere: apps(first: 1) { nodes { id } pageInfo { hasNextPage } } }`,
      {},
      bearer,
    );
    assert.deepEqual(seen, {
      apps: { totalCount: 1, nodes: [{ id: own.id }], pageInfo: { hasNextPage: false } },
      folders: [],
      trash: [],
      found: { totalCount: 1 },
      elsewhere: { nodes: [{ id: own.id }], pageInfo: { hasNextPage: false } },
    });
    const inside = `{ apps(folderId: "${folderId}") { totalCount nodes { id } } }`;
    assert.deepEqual(await program.must(inside, {}, bearer), {
      apps: { totalCount: 0, nodes: [] },
    });
    const one = '{ a: app(slug: "own") { id } b: app(slug: "other") { id } }';
    assert.deepEqual(await program.must(one, {}, bearer), { a: { id: own.id }, b: null });
    const deployment = 'query($id: ID!) { deployment(id: $id) { appId } }';
    assert.deepEqual(await program.must(deployment, { id: ownDeployment }, bearer), {
      deployment: { appId: own.id },
    });
    assert.deepEqual(await program.must(deployment, { id: otherDeployment }, bearer), {
      deployment: null,
    });
  });

  it('finds nothing of another app to read or to change', async () => {
    const id = other.id;
    const operations = [
      `{ env(appId: "${id}") { key } }`,
      `{ logs(appId: "${id}") { nodes { text } } }`,
      `mutation { updateApp(id: "${id}", name: "X") { id } }`,
      `mutation { deleteApp(id: "${id}") }`,
      `mutation { redeploy(appId: "${id}") { id } }`,
      `mutation { startApp(id: "${id}") { id } }`,
      `mutation { stopApp(id: "${id}") { id } }`,
      `mutation { restartApp(id: "${id}") { id } }`,
      `mutation { upsertEnv(appId: "${id}", entries: [{key: "A", value: "b"}]) { id } }`,
      `mutation { deleteEnv(appId: "${id}", key: "KEY") }`,
      `mutation { revealEnv(appId: "${id}", key: "KEY") }`,
      `mutation { revealAppDeployHook(id: "${id}") }`,
      `mutation { rotateAppDeployHook(id: "${id}") }`,
      `mutation { setAppDeployHookEnabled(id: "${id}", enabled: false) { id } }`,
      `mutation { rollbackDeployment(deploymentId: "${otherDeployment}") { id } }`,
      `mutation { cancelDeployment(id: "${otherDeployment}") }`,
      `mutation { updateApp(id: "${own.id}", folderId: "${folderId}") { id } }`,
      `mutation { deleteFolder(id: "${folderId}") }`,
    ];
    for (const query of operations) {
      assert.equal(await program.fails(query, {}, bearer), 'NOT_FOUND', query);
    }
    assert.equal((await client.visit(other.slug)).status, 200);
  });

  it('may do nothing in the team itself, and pass no more on than it has', async () => {
    const operations = [
      'mutation { createApp(input: {name: "More", source: UPLOAD}) { id } }',
      'mutation { createFolder(name: "More") { id } }',
      'mutation { updateInstanceSettings(logMaxDays: 1) { logMaxDays } }',
      'mutation { createToken(input: {name: "more"}) { secret } }',
      '{ apiTokens { id } }',
    ];
    for (const query of operations) {
      assert.equal(await program.fails(query, {}, bearer), 'FORBIDDEN', query);
    }
    const { apps } = await client.must<{ apps: { totalCount: number } }>('{ apps { totalCount } }');
    assert.equal(apps.totalCount, 2);
  });

  it('follows its app alone, and hears no more once it is revoked', async () => {
    const status = (id: string): string => `subscription { appStatus(id: "${id}") { status } }`;
    const foreign = new Subscription(gangway.url, secret, status(other.id));
    await until('the refusal', 10_000, () => foreign.ended);
    assert.match(JSON.stringify(foreign.data), /"NOT_FOUND"/);
    const mine = new Subscription(gangway.url, secret, status(own.id));
    await until('the first state', 10_000, () => mine.data.length > 0);
    await program.must(`mutation { stopApp(id: "${own.id}") { id } }`, {}, bearer);
    await until('the change', 10_000, () => JSON.stringify(mine.data).includes('stopped'));
    const log = new Subscription(
      gangway.url,
      secret,
      `subscription { deploymentLog(id: "${ownDeployment}") { text } }`,
    );
    await until('the whole log', 10_000, () => log.ended);
    assert.match(JSON.stringify(log.data.at(-1)), /Ready\./);
    const { apiTokens } = await client.must<{ apiTokens: { id: string; appIds: string[] }[] }>(
      '{ apiTokens { id appIds } }',
    );
    const id = apiTokens.find(({ appIds }) => appIds.includes(own.id))?.id;
    await client.must('mutation($id: ID!) { revokeToken(id: $id) }', { id });
    await until('the subscription ended', 10_000, () => mine.ended);
    const answer = await program.graphql('{ me { id } }', {}, bearer);
    assert.equal(answer.status, 401);
  });
});

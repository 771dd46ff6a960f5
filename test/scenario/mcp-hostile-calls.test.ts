/** Calls of tools that try to see, to change or to break what they should not. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { capabilities } from '../../src/lib/capabilities.ts';
import { inTeam } from '../support/access-world.ts';
import { harmless, hostile } from '../support/exposing-documents.ts';
import { Gangway } from '../support/gangway.ts';
import type { Client } from '../support/gangway-client.ts';
import { assertResult, McpPeer } from '../support/mcp-peer.ts';

const hidden = 'the-hidden-value-of-a-variable';
const appsMade = 6;

interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
}

interface Called {
  isError?: boolean;
  text: string;
  structured: Record<string, unknown> | undefined;
}

let gangway: Gangway;
let owner: Client;
let appId: string;
let otherTeam: string;
let peer: McpPeer;
let stranger: McpPeer;

before(async () => {
  gangway = await Gangway.open({ env: { GANGWAY_MCP_CALLS_PER_MINUTE: '100000' } });
  owner = gangway.client;
  for (let i = 0; i < appsMade; i++) {
    const env = [{ key: 'KEY', value: hidden, isSecret: true }];
    appId = (await owner.createApp(`App ${i}`, { env })).id;
  }
  const made = await owner.must<{ createTeam: { id: string } }>(
    'mutation { createTeam(name: "Other") { id } }',
  );
  otherTeam = made.createTeam.id;
  await owner.must(
    'mutation { createApp(input: { name: "Elsewhere", source: UPLOAD }) { id } }',
    {},
    inTeam(otherTeam),
  );
  const home = await owner.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }');
  const peerIn = async (teamId: string) =>
    new McpPeer({
      url: gangway.url,
      token: await owner.token({ capabilities, teamIds: [teamId] }),
    });
  peer = await peerIn(home.viewerTeam.id);
  stranger = await peerIn(otherTeam);
});

after(() => gangway.end());

async function call(name: string, args: Record<string, unknown>, by = peer): Promise<Called> {
  const answer = await by.minimal('tools/call', { name, arguments: args });
  assert.ok(!answer.text.includes(hidden), name);
  const result = await assertResult(Promise.resolve(answer));
  const content = result['content'] as { text: string }[];
  return {
    ...(result['isError'] === true && { isError: true }),
    text: content.map(({ text }) => text).join('\n'),
    structured: result['structuredContent'] as Called['structured'],
  };
}

/** What the team looks like to a person. */
async function standing(): Promise<unknown> {
  return await owner.must(
    '{ apps { nodes { id name status } } members { userId } apiTokens { id } roles { id capabilities } mySessions { id } }',
  );
}

describe('documents of agents', () => {
  for (const { name, query, variables, operationName } of hostile) {
    it(`are refused: ${name}`, async () => {
      const given = { query: query.replaceAll('app_1', appId), variables, operationName };
      const before = await standing();
      for (const tool of ['graphql_query', 'graphql_mutate']) {
        const { isError, text } = await call(tool, given);
        assert.equal(isError, true, `${tool}: ${text}`);
        assert.doesNotMatch(text, /INTERNAL/);
      }
      assert.deepEqual(await standing(), before);
    });
  }

  for (const { name, query, variables, operationName } of harmless) {
    it(`are run: ${name}`, async () => {
      const given = { query: query.replaceAll('app_1', appId), variables, operationName };
      const { text } = await call('graphql_query', given);
      assert.doesNotMatch(text, /over MCP|refused|INTERNAL/, text);
      assert.match(text, /^\{"data":\{|\(FORBIDDEN\)/);
    });
  }

  it('are of the kind that their tool runs, whatever they call themselves', async () => {
    const made = 'mutation query { createApp(input: { name: "Sneaked", source: UPLOAD }) { id } }';
    const both = `query safe { me { id } } ${made}`;
    const attempts = [
      { query: made },
      { query: both, operationName: 'query' },
      { query: `fragment x on Mutation { createApp(input: { name: "Sneaked" source: UPLOAD }) { id } } mutation { ...x }` },
      { query: 'subscription { appStatus(id: "x") { status } }' },
    ]; // prettier-ignore
    for (const args of attempts) assert.equal((await call('graphql_query', args)).isError, true);
    assert.equal((await call('graphql_query', { query: both })).isError, true);
    assert.equal((await call('graphql_mutate', { query: '{ me { id } }' })).isError, true);
    const { text } = await call('list_apps', {});
    assert.doesNotMatch(text, /Sneaked/);
    assert.equal(
      (await call('graphql_query', { query: both, operationName: 'safe' })).isError,
      undefined,
    );
  });

  it('are bounded as they are elsewhere: in length, depth, cost, aliases and circles', async () => {
    const deep = `${'{ apps { nodes { folder { apps '.repeat(50)}${'} } } }'.repeat(50)}`;
    const aliases = Array.from({ length: 3_000 }, (_, i) => `a${i}: apps { totalCount }`).join(' ');
    const bombs = [
      `{ me { id } } #${'x'.repeat(70_000)}`,
      deep,
      `{ ${aliases} }`,
      '{ apps(first: 100) { nodes { deployments(first: 100) { nodes { log(first: 1000) { nodes { text } } } } } } }',
      '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }',
      `{ me { id ${'@include(if: true) '.repeat(5_000)} } }`,
      '{'.repeat(60_000),
      'query ($a: [[[[[[String]]]]]]) { me { id } }',
    ]; // prettier-ignore
    for (const query of bombs.slice(0, -1)) {
      const { isError, text } = await call('graphql_query', { query });
      assert.equal(isError, true, query.slice(0, 60));
      assert.ok(text.length < 24_000);
      assert.doesNotMatch(text, /INTERNAL/);
    }
    await call('graphql_query', { query: bombs.at(-1) ?? '', variables: { a: [[[['x']]]] } });
  });
});

describe('cursors', () => {
  const page = async (by: McpPeer, args: Record<string, unknown>) => {
    const { isError, structured, text } = await call('list_apps', args, by);
    if (isError) return text;
    const { apps } = structured as {
      apps: { nodes: { id: string; name: string }[]; pageInfo: { endCursor: string } };
    };
    return apps;
  };

  it('of another token show nothing of its team', async () => {
    const first = await page(peer, { first: 2 });
    assert.ok(typeof first !== 'string');
    const theirs = await page(stranger, { first: 2, after: first.pageInfo.endCursor });
    const names = typeof theirs === 'string' ? [] : theirs.nodes.map(({ name }) => name);
    assert.ok(
      names.every((name) => name === 'Elsewhere'),
      names.join(),
    );
  });

  it('of another list, and what is none, are refused in a sentence or find nothing', async () => {
    const deployments = await call('list_deployments', { appId });
    const { endCursor = null } = (
      deployments.structured as { app: { deployments: { pageInfo: { endCursor?: string } } } }
    ).app.deployments.pageInfo;
    const cursors = [
      endCursor ?? 'x', '', 'x', '-1', '0', '999999999', 'null', '__proto__', 'é🎉', '\u0000',
      'x'.repeat(5_000), Buffer.from('app_x').toString('base64'), '../..', '{"a":1}',
    ]; // prettier-ignore
    for (const after of cursors) {
      for (const [tool, args] of [
        ['list_apps', { after }],
        ['list_deployments', { appId, after }],
        ['get_deployment_log', { deploymentId: 'none', after }],
        ['read_logs', { appId, after }],
      ] as const) {
        const { isError, text } = await call(tool, args);
        if (isError) assert.match(text, /[.)]$/, `${tool} ${after}`);
        assert.doesNotMatch(text, /INTERNAL/, `${tool} ${after}`);
      }
    }
  });
});

describe('arguments', () => {
  const fitting = ({ type, enum: values }: Schema): unknown => {
    if (values) return values[0];
    const made: Record<string, unknown> = { integer: 1, number: 1, boolean: true, array: [] };
    return type === 'object' ? {} : (made[type ?? ''] ?? 'none-such');
  };
  const wrong = ({ type, enum: values }: Schema): unknown[] => {
    if (values) return ['none-of-these', 7, [values[0]]];
    const all = [7.5, 'none', true, [{}], { a: 1 }];
    const right: Record<string, (one: unknown) => boolean> = {
      integer: Number.isInteger,
      number: (one) => typeof one === 'number',
      string: (one) => typeof one === 'string',
      boolean: (one) => typeof one === 'boolean',
      object: (one) => typeof one === 'object' && one !== null && !Array.isArray(one),
    };
    const extremes = type === 'integer' ? [1e99, -1, 2 ** 53, '1'] : [];
    const others = all.filter((one) => right[type ?? '']?.(one) !== true);
    return type === undefined ? [] : [...others, ...extremes];
  };

  it('of a wrong type, missing or unknown are told in a sentence, by every tool', async () => {
    const { tools } = (await assertResult(peer.minimal('tools/list'))) as {
      tools: { name: string; inputSchema: Schema }[];
    };
    const before = await standing();
    let tried = 0;
    for (const { name, inputSchema } of tools) {
      const { properties = {}, required = [] } = inputSchema;
      const base = Object.fromEntries(required.map((key) => [key, fitting(properties[key] ?? {})]));
      const attempts: [string, Record<string, unknown>][] = [
        ['unknown', { ...base, unknown: 1 }],
        ...required.flatMap((key): [string, Record<string, unknown>][] => [
          [key, { ...base, [key]: undefined }],
          [key, { ...base, [key]: null }],
        ]),
        ...Object.entries(properties).flatMap(([key, schema]) =>
          wrong(schema).map((value): [string, Record<string, unknown>] => [
            key,
            { ...base, [key]: value },
          ]),
        ),
      ];
      for (const [key, args] of attempts) {
        const { isError, text } = await call(name, args);
        const what = `${name} ${key} ${JSON.stringify(args[key])}: ${text}`;
        assert.equal(isError, true, what);
        assert.match(text, /^The arguments do not fit: /, what);
        assert.ok(text.includes(key), what);
        tried += 1;
      }
    }
    assert.ok(tried > 300, String(tried));
    assert.deepEqual(await standing(), before);
  });

  it('that fit but name nothing are a sentence, and change nothing', async () => {
    const { tools } = (await assertResult(peer.minimal('tools/list'))) as {
      tools: { name: string; inputSchema: Schema }[];
    };
    const before = await standing();
    for (const { name, inputSchema } of tools) {
      const { properties = {}, required = [] } = inputSchema;
      if (!required.some((key) => key.endsWith('Id'))) continue;
      const base = Object.fromEntries(required.map((key) => [key, fitting(properties[key] ?? {})]));
      const { isError, text } = await call(name, base);
      assert.equal(isError, true, `${name}: ${text}`);
      assert.match(text, /^[A-Z].*[.)]$/s, name);
    }
    assert.deepEqual(await standing(), before);
  });
});

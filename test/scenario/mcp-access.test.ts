/** Who may use MCP, how often, and for how long: over HTTP against a whole Gangway. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { capabilities } from '../../src/lib/capabilities.ts';
import { inTeam, join as joinTeam, makeRole, userIdOf } from '../support/access-world.ts';
import { cleanups } from '../support/cleanups.ts';
import { found } from '../support/eventually.ts';
import { Gangway, until } from '../support/gangway.ts';
import { lockOut } from '../support/authenticator-app.ts';
import { owner as account } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import { assertResult, McpPeer, meta } from '../support/mcp-peer.ts';
import { assertProblem } from '../support/problem.ts';
import { SseParser } from '../support/sse-parser.ts';
import { hourMs, minuteMs, TimeMachine } from '../support/time-machine.ts';

const pingBody = { jsonrpc: '2.0', id: 7, method: 'ping' };

/** More than any token calls here, but for the one that tries just that. */
const callsPerMinute = 20;

const later = cleanups();
let time: TimeMachine;
let gangway: Gangway;
let owner: Client;
let home: string;
let token: string;

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-mcp-'));
  later(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  time = new TimeMachine(join(folder, 'time'));
  const env = { GANGWAY_MCP_CALLS_PER_MINUTE: String(callsPerMinute) };
  gangway = await Gangway.open(time.options(env));
  later(() => gangway.end());
  owner = gangway.client;
  home = (await owner.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }')).viewerTeam.id;
  token = await owner.token({ capabilities });
});

const peerOf = (secret: string): McpPeer => new McpPeer({ url: gangway.url, token: secret });

async function revoke(name: string): Promise<void> {
  const { apiTokens } = await owner.must<{ apiTokens: { id: string; name: string }[] }>(
    '{ apiTokens { id name } }',
  );
  const id = apiTokens.find((one) => one.name === name)?.id;
  await owner.must('mutation($id: ID!) { revokeToken(id: $id) }', { id });
}

async function makeTeam(name: string): Promise<string> {
  const { createTeam } = await owner.must<{ createTeam: { id: string } }>(
    'mutation($name: String!) { createTeam(name: $name) { id } }',
    { name },
  );
  return createTeam.id;
}

const setMcp = (enabled: boolean, teamId: string): Promise<unknown> =>
  owner.must(`mutation { setMcpSettings(enabled: ${enabled}) { enabled } }`, {}, inTeam(teamId));

/** The parameters of a challenge, by the grammar of RFC 9110, 11.6.1. */
function challengeOf(headers: Headers): Record<string, string> {
  const value = headers.get('www-authenticate') ?? '';
  assert.match(value, /^Bearer [a-z_]+="[^"\\]*"(, [a-z_]+="[^"\\]*")*$/);
  const params = [...value.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, text]) => [name, text]);
  assert.equal(new Set(params.map(([name]) => name)).size, params.length);
  return Object.fromEntries(params) as Record<string, string>;
}

describe('who has no usable token', () => {
  it('is told where to get one, and nothing of an error where none came', async () => {
    const answer = await peerOf('').post(pingBody, { authorization: null });
    assertProblem(answer, 401, 'UNAUTHENTICATED');
    const { resource_metadata: place = '', scope = '', error } = challengeOf(answer.headers);
    assert.equal(error, undefined);
    assert.match(scope, /(^| )deploy_apps( |$)/);
    assert.equal(place, `${gangway.url}/.well-known/oauth-protected-resource/api/mcp`);
    for (const path of [new URL(place).pathname, '/.well-known/oauth-protected-resource']) {
      const { status, text } = await gangway.stranger().ask(path);
      assert.equal(status, 200, path);
      const metadata = JSON.parse(text) as Record<string, unknown>;
      assert.equal(metadata['resource'], `${gangway.url}/api/mcp`);
      assert.deepEqual(metadata['bearer_methods_supported'], ['header']);
      const scopes = metadata['scopes_supported'] as string[];
      for (const one of scope.split(' ')) assert.ok(scopes.includes(one), one);
    }
  });

  it('is asked for reading alone where the address reads alone', async () => {
    for (const query of ['?readonly=1', '?tools=read']) {
      const answer = await peerOf('').post(pingBody, { authorization: null }, query);
      assert.doesNotMatch(
        challengeOf(answer.headers)['scope'] ?? '',
        /deploy|delete|create|control/,
      );
    }
  });

  it('is told that what came is none: unknown, malformed, changed, expired, revoked', async () => {
    const expiresAt = new Date(time.now() + hourMs).toISOString();
    const expiring = await owner.token({ capabilities: [], expiresAt });
    const revoked = await owner.token({ capabilities: [], name: 'revoked' });
    assert.equal((await peerOf(revoked).post(pingBody)).status, 200);
    await revoke('revoked');
    assert.equal((await peerOf(expiring).post(pingBody)).status, 200);
    await time.jump(hourMs + minuteMs);
    // Gateway threads see it a moment later.
    await until('it expired', 5_000, async () => {
      return (await peerOf(expiring).post(pingBody)).status === 401;
    });
    const changed = token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a');
    const session = owner.cookie.split('=')[1] ?? '';
    for (const secret of ['x', `gwy_${'0'.repeat(40)}`, changed, expiring, revoked, session]) {
      const answer = await peerOf(secret).post(pingBody);
      assertProblem(answer, 401, 'UNAUTHENTICATED', secret);
      const { error, resource_metadata: place } = challengeOf(answer.headers);
      assert.equal(error, 'invalid_token');
      assert.ok(place);
    }
    const twice = await peerOf('').post(pingBody, { authorization: `Bearer ${token}, Bearer x` });
    assertProblem(twice, 401, 'UNAUTHENTICATED');
  });

  it('is not helped by a cookie, a token in the address, or another scheme', async () => {
    const attempts: [Record<string, string | null>, string][] = [
      [{ authorization: null, cookie: owner.cookie }, ''],
      [{ authorization: 'Bearer x', cookie: owner.cookie }, ''],
      [{ authorization: null }, `?token=${token}&access_token=${token}`],
      [{ authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` }, ''],
      [{ authorization: token }, ''],
    ];
    for (const [headers, query] of attempts) {
      assertProblem(await peerOf('').post(pingBody, headers, query), 401, 'UNAUTHENTICATED');
    }
    // Beside a good token it is nothing, either.
    const strange = await peerOf(token).post(pingBody, { cookie: 'service.session_token=x.y' });
    assert.equal(strange.status, 200);
  });

  it('never has its words repeated: a token is in no answer and in no log', async () => {
    const secret = 'gwy_thisIsASecretThatNobodyShouldEverSee00';
    const { text, headers } = await peerOf(secret).post(pingBody, {}, `?token=${secret}`);
    assert.ok(!text.includes(secret) && !JSON.stringify([...headers]).includes(secret));
    assert.ok(!gangway.output.includes(secret));
  });
});

describe('who may not', () => {
  it('is refused a tool beyond its token, with all that a wider one needs', async () => {
    const narrow = peerOf(await owner.token({ capabilities: ['view_logs'] }));
    const call = { name: 'deploy_app', arguments: { appId: 'none' } };
    const answer = await narrow.modern('tools/call', call);
    assertProblem(answer, 403, 'FORBIDDEN');
    const { error, scope, resource_metadata: place } = challengeOf(answer.headers);
    assert.equal(error, 'insufficient_scope');
    assert.deepEqual(scope?.split(' ').sort(), ['deploy_apps', 'view_logs']);
    assert.ok(place);
    const { tools } = (await assertResult(narrow.modern('tools/list'))) as {
      tools: { name: string }[];
    };
    const names = tools.map(({ name }) => name);
    assert.ok(names.includes('read_logs') && !names.includes('deploy_app'));
  });

  it('is refused where MCP is switched off, until it is on again', async () => {
    const teamId = await makeTeam('Quiet');
    const peer = peerOf(await owner.token({ capabilities, teamIds: [teamId] }));
    await assertResult(peer.modern('tools/list'));
    await setMcp(false, teamId);
    assertProblem(await peer.modern('tools/list'), 403, 'MCP_DISABLED');
    const elsewhere = { name: 'list_apps', arguments: { team: teamId } };
    assertProblem(await peerOf(token).modern('tools/call', elsewhere), 403, 'MCP_DISABLED');
    const listed = await assertResult(peerOf(token).modern('tools/call', { name: 'list_teams' }));
    assert.doesNotMatch(JSON.stringify(listed), /Quiet/);
    await setMcp(true, teamId);
    await assertResult(peer.modern('tools/list'));
  });

  it('is refused where the owner of the token may not use MCP', async () => {
    const roleId = await makeRole(owner, home, 'Maker', [
      'view_logs',
      'manage_tokens',
      'manage_mcp',
    ]);
    const maker = await joinTeam(gangway, home, roleId, 'maker');
    const peer = peerOf(await maker.token({ capabilities: ['view_logs'] }));
    await assertResult(peer.modern('tools/list'));
    await owner.must(
      'mutation($id: ID!) { updateRole(id: $id, capabilities: [view_logs, manage_tokens]) { id } }',
      { id: roleId },
    );
    assertProblem(await peer.modern('tools/list'), 403, 'FORBIDDEN');
    await owner.must('mutation($id: ID!) { removeMember(userId: $id) }', {
      id: await userIdOf(maker),
    });
    assertProblem(await peer.modern('tools/list'), 401, 'UNAUTHENTICATED');
  });

  it('is refused in a team that wants two-factor, and in one it is not in', async () => {
    const teamId = await makeTeam('Strict');
    const peer = peerOf(await owner.token({ capabilities, teamIds: [teamId] }));
    await lockOut(owner, account.password, inTeam(teamId), () => time.now());
    assertProblem(await peer.modern('tools/list'), 403, 'TWO_FACTOR_REQUIRED');
    const foreign = { 'x-service-team': 'team_of_others' };
    assertProblem(await peerOf(token).modern('tools/list', {}, foreign), 403, 'FORBIDDEN');
    const named = { name: 'list_apps', arguments: { team: 'team_of_others' } };
    assert.equal((await assertResult(peerOf(token).modern('tools/call', named)))['isError'], true);
  });
});

describe('who listens', () => {
  async function listen(secret: string) {
    const response = await fetch(`${gangway.url}/api/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'of mine',
        method: 'subscriptions/listen',
        params: { _meta: meta, notifications: { toolsListChanged: true } },
      }),
    });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.ok(response.body);
    const reader = response.body.getReader();
    const parser = new SseParser();
    const event = await found('the first event', async () => {
      const { value, done } = (await reader.read()) as { value?: Uint8Array; done: boolean };
      assert.equal(done, false);
      return parser.push(value ?? new Uint8Array())[0];
    });
    assert.deepEqual(JSON.parse(event.data), {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: {},
        _meta: { 'io.modelcontextprotocol/subscriptionId': 'of mine' },
      },
    });
    const ended = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    return { ended, leave: () => reader.cancel() };
  }

  it('is let go when its token is revoked', { timeout: 10_000 }, async () => {
    const listener = await listen(await owner.token({ capabilities: [], name: 'listener' }));
    await revoke('listener');
    await listener.ended();
  });

  it('is let go when MCP is switched off', { timeout: 10_000 }, async () => {
    const teamId = await makeTeam('Listening');
    const listener = await listen(await owner.token({ capabilities: [], teamIds: [teamId] }));
    await setMcp(false, teamId);
    await listener.ended();
  });

  it('gives its place back when it leaves', async () => {
    // Who was let go before has heard of it first.
    await until('nobody listens', 5_000, async () => (await openStreams()) === 0);
    const listener = await listen(token);
    assert.equal(await openStreams(), 1);
    await listener.leave();
    await until('its place is free', 5_000, async () => (await openStreams()) === 0);
  });

  async function openStreams(): Promise<number> {
    const { text } = await gangway.client.ask('/metrics');
    const found = /^\w*mcp_streams (\d+)$/m.exec(text)?.[1];
    assert.ok(found, text);
    return Number(found);
  }
});

describe('how often', () => {
  it('is bounded for each token by itself, with the time to wait', async () => {
    const place = async () => peerOf(await owner.token({ capabilities: [] }));
    const [greedy, other] = [await place(), await place()];
    // What is refused afterwards counts, too.
    for (let i = 0; i < callsPerMinute; i++) {
      const answer = await greedy.post(i % 2 === 0 ? 'no JSON' : pingBody);
      assert.notEqual(answer.status, 429);
    }
    // Meanwhile there is one more every three seconds.
    const refused = await found('a refusal', async () => {
      const answer = await greedy.post(pingBody);
      return answer.status === 429 && answer;
    });
    assertProblem(refused, 429, 'RATE_LIMITED');
    const seconds = Number(refused.headers.get('retry-after'));
    assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 3, String(seconds));
    assert.equal((await other.post(pingBody)).status, 200);
  });

  it('is bounded for failures by their address, which good tokens do not feel', async () => {
    // Twice as many as a minute has, so that it is no matter how long they take.
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) =>
        peerOf(`gwy_${String(i).repeat(20).slice(0, 40)}`).post(pingBody),
      ),
    );
    assert.ok(answers.some(({ status }) => status === 401));
    const refused = answers.find(({ status }) => status !== 401);
    assert.ok(refused);
    assertProblem(refused, 429, 'RATE_LIMITED');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await peerOf(token).post(pingBody)).status, 200);
    assert.equal((await peerOf('').post(pingBody, { authorization: null })).status, 401);
  });
});

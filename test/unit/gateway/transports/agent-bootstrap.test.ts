import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';

import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { serversDefinition } from '../../../../src/actors/server/actor.ts';
import { serversActor } from '../../../../src/actors/server/protocol.ts';
import { AgentAuthority } from '../../../../src/agents/authority.ts';
import type { Authenticator } from '../../../../src/auth/callers/authenticator.ts';
import { Callers } from '../../../../src/gateway/credentials.ts';
import { agentBootstrapRoutes } from '../../../../src/gateway/transports/agent-bootstrap.ts';
import { agentScriptRoutes } from '../../../../src/gateway/transports/agent-scripts.ts';
import { takeoverRoutes } from '../../../../src/gateway/transports/takeover.ts';
import { RateLimit } from '../../../../src/lib/rate-limit.ts';
import { agentScripts } from '../../../../src/service/agent-scripts.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { newAgentKey, requestOf } from '../../../support/agent-requests.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const csr = requestOf(newAgentKey(), {});
const good = { csr, name: 'builder-1', version: '1.4.2' };
const guess = `gwb_${'0'.repeat(40)}.${'0'.repeat(43)}`;

describe('what a new server asks of the panel', () => {
  const clock = new ManualClock();
  const store = new MemoryStore();
  const authority = new AgentAuthority({ reader: store, secrets: plainSecrets, clock });
  const logger = recordingLogger();
  const runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
  let failures: RateLimit;
  let gateway: TestGateway;
  let added = 0;

  before(async () => {
    runtime.register(serversDefinition({ reader: store, clock, authority }));
    runtime.start();
    const callers = new Callers({
      authenticator: {} as Authenticator,
      publicUrl: () => ({ url: 'http://panel.test', configured: true }),
      failures: { take: (key) => failures.take(key) } as RateLimit,
    });
    const common = { reader: store, actors: runtime, callers, clock };
    const control = () => ({ host: 'panel.test', port: 3443 });
    gateway = await startGateway([
      ...agentBootstrapRoutes({ ...common, version: '1.5.0', control }),
      ...takeoverRoutes(common),
      ...agentScriptRoutes(agentScripts()),
    ]);
  });
  after(async () => {
    await gateway.close();
    await runtime.close();
    await authority.close();
  });
  beforeEach(() => {
    failures = new RateLimit({ burst: 100, windowMs: 60_000 });
  });

  async function newToken(takeover = false): Promise<{ id: string; token: string }> {
    const name = `server ${String(++added)}`;
    const { server, bootstrapToken: token } = await runtime.ask(serversActor.at('all'), {
      ...{ type: 'add', name, takeover },
    });
    return { id: server.id, token };
  }
  async function call(
    path: string,
    token: string | null,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    const response = await fetch(`${gateway.url}${path}`, {
      ...(body !== undefined && {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
      headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers },
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, code: answer['code'], answer, headers: response.headers };
  }
  const bootstrap = (token: string | null, body: unknown = good) =>
    call('/api/agent/bootstrap', token, body);
  const codeOf = async (asked: ReturnType<typeof call>) => {
    const { status, code } = await asked;
    return `${String(status)} ${String(code)}`;
  };

  it('is its certificate, once, with the authority and the way to the port for agents', async () => {
    const { id, token } = await newToken();
    const { status, answer, headers } = await bootstrap(token);
    assert.equal(status, 200);
    assert.equal(headers.get('cache-control'), 'no-store');
    const { certificate, ca, ...rest } = answer as Record<'certificate' | 'ca', string>;
    assert.deepEqual(rest, { serverId: id, control: { host: 'panel.test', port: 3443 } });
    assert.equal(ca, authority.caPem);
    assert.equal(authority.admit(new X509Certificate(certificate)), id);
    const again = await bootstrap(token);
    assert.deepEqual([again.status, again.code], [401, 'UNAUTHENTICATED']);
    assert.match(String(again.answer['detail']), /good for one.*reissueServerBootstrap/);
    assert.match(again.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
  });

  it('is refused without a token that is good, whatever the body is', async () => {
    const { token } = await newToken();
    for (const bad of [
      null,
      guess,
      token.slice(0, -1),
      `${token}x`,
      'gwy_1',
      token.toUpperCase(),
    ]) {
      assert.equal(await codeOf(bootstrap(bad)), '401 UNAUTHENTICATED');
      assert.equal(await codeOf(bootstrap(bad, 'x'.repeat(10_000_000))), '401 UNAUTHENTICATED');
    }
    const asBasic = { authorization: `Basic ${btoa(`x:${token}`)}` };
    assert.equal(
      await codeOf(call('/api/agent/bootstrap', null, good, asBasic)),
      '401 UNAUTHENTICATED',
    );
    await clock.advance(24 * 3_600_000);
    assert.equal(await codeOf(bootstrap(token)), '401 UNAUTHENTICATED');
  });

  it('limits how often an address guesses, and never refuses a good token for it', async () => {
    const { token } = await newToken(true);
    failures = new RateLimit({ burst: 3, windowMs: 60_000 });
    const seen: string[] = [];
    for (let n = 0; n < 5; n++) seen.push(await codeOf(bootstrap(guess)));
    assert.deepEqual(seen.slice(0, 3), Array(3).fill('401 UNAUTHENTICATED'));
    assert.deepEqual(seen.slice(3), Array(2).fill('429 RATE_LIMITED'));
    assert.equal(await codeOf(call('/api/takeover', guess)), '429 RATE_LIMITED');
    // A request without any is no guess.
    assert.equal(await codeOf(bootstrap(null)), '401 UNAUTHENTICATED');
    assert.equal((await call('/api/takeover', token)).status, 200);
    assert.equal((await bootstrap(token)).status, 200);
  });

  it('leaves the token good for what cannot be used', async () => {
    const { id, token } = await newToken();
    for (const bad of [
      ...['', 'no JSON', '[]', 'null', '"csr"', '{}', { ...good, csr: undefined }],
      ...[
        { ...good, csr: 1 },
        { ...good, csr: 'none' },
        { ...good, name: '' },
      ],
      ...[
        { ...good, name: 'a\nb' },
        { ...good, name: 'a'.repeat(256) },
        { ...good, name: {} },
      ],
      ...[
        { ...good, version: 'new' },
        { ...good, version: undefined },
      ],
      { ...good, csr: requestOf(newAgentKey(), { subject: 'another' }) },
    ]) {
      assert.equal(await codeOf(bootstrap(token, bad)), '400 BAD_REQUEST', JSON.stringify(bad));
    }
    assert.equal(await codeOf(bootstrap(token, 'x'.repeat(10_000_000))), '413 PAYLOAD_TOO_LARGE');
    for (const version of ['1.3.9', '1.7.0', '0.5.0', '2.5.0']) {
      assert.equal(await codeOf(bootstrap(token, { ...good, version })), '409 VERSION_MISMATCH');
    }
    assert.equal(store.get(tables.servers, id)?.agent?.bootstrap?.usedAtMs, null);
    assert.equal((await bootstrap(token)).status, 200);
  });

  it('is one certificate, however many ask at once', async () => {
    const { id, token } = await newToken();
    const all = await Promise.all(
      Array.from({ length: 8 }, () =>
        bootstrap(token, { ...good, csr: requestOf(newAgentKey(), {}) }),
      ),
    );
    assert.deepEqual(all.map(({ status }) => status).sort(), [200, ...Array<number>(7).fill(401)]);
    assert.equal(store.get(tables.servers, id)?.agent?.certificates.length, 1);
  });

  it('is how its takeover stands, and that it goes on', async () => {
    const { id, token } = await newToken(true);
    const report = (body: unknown) => call('/api/takeover', token, body);
    const waiting = await call('/api/takeover', token);
    const updatedAt = new Date(clock.now()).toISOString();
    assert.deepEqual(waiting.answer, { state: 'waiting', serverId: id, updatedAt });
    assert.equal(waiting.headers.get('cache-control'), 'no-store');
    for (const bad of [
      { state: 'waiting' },
      { state: 'gone' },
      {},
      'x',
      { state: 'done', reason: 1 },
    ]) {
      assert.equal(await codeOf(report(bad)), '400 BAD_REQUEST', JSON.stringify(bad));
    }
    assert.equal(await codeOf(report('x'.repeat(10_000_000))), '413 PAYLOAD_TOO_LARGE');
    assert.equal(await codeOf(report({ state: 'removed' })), '409 ILLEGAL_STEP');
    const removing = await report({ state: 'removing', reason: `so\n${'o'.repeat(2000)}` });
    assert.deepEqual(removing.answer, { state: 'removing', serverId: id, updatedAt });
    const reason = store.get(tables.servers, id)?.agent?.takeover?.reason;
    assert.deepEqual([reason?.slice(0, 4), reason?.length], ['sooo', 999]);
    assert.equal((await report({ state: 'failed' })).status, 200);
    assert.equal(await codeOf(report({ state: 'removed' })), '409 ILLEGAL_STEP');
    assert.equal((await call('/api/takeover', token)).answer['state'], 'failed');
    assert.equal(await codeOf(call('/api/takeover', token)), '401 UNAUTHENTICATED');
    assert.equal(await codeOf(report({ state: 'failed' })), '401 UNAUTHENTICATED');
  });

  it('is no takeover for a server that was added without, or for a guess', async () => {
    const { token } = await newToken();
    for (const bad of [token, guess, null]) {
      assert.equal(await codeOf(call('/api/takeover', bad)), '401 UNAUTHENTICATED');
      const asked = call('/api/takeover', bad, { state: 'done' });
      assert.equal(await codeOf(asked), '401 UNAUTHENTICATED');
    }
  });

  it('is the scripts, which hold nothing of its own', async () => {
    for (const name of ['install.sh', 'takeover.sh']) {
      const response = await fetch(`${gateway.url}/api/agent/${name}`);
      assert.equal(response.headers.get('content-type'), 'text/x-shellscript; charset=utf-8');
      assert.match(await response.text(), /^#!\/bin\/sh\n/);
    }
  });
});

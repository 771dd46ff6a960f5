import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, beforeEach, afterEach, describe, it } from 'node:test';

import type { MessageOf } from '../../../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { serversDefinition } from '../../../../src/actors/server/actor.ts';
import { serversActor, type ServersProtocol } from '../../../../src/actors/server/protocol.ts';
import { AgentAuthority } from '../../../../src/agents/authority.ts';
import { authorityHashIn, bootstrapTokenHash } from '../../../../src/protocol/bootstrap-token.ts';
import type {
  AgentAuthorityRecord,
  AppRecord,
  DatabaseRecord,
} from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { newAgentKey, requestOf } from '../../../support/agent-requests.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const dayMs = 24 * 3_600_000;
const csr = requestOf(newAgentKey(), {});
const name = 'builder-1';

describe('servers that somebody adds', () => {
  let made: AgentAuthorityRecord;
  let store: MemoryStore;
  let clock: ManualClock;
  let runtime: ActorRuntime;
  let authority: AgentAuthority;

  before(async () => {
    const maker = new AgentAuthority({
      ...{ reader: new MemoryStore(), secrets: plainSecrets, clock: new ManualClock() },
    });
    after(() => maker.close());
    made = await maker.make();
  });
  beforeEach(() => {
    store = new MemoryStore();
    clock = new ManualClock();
    authority = new AgentAuthority({ reader: store, secrets: plainSecrets, clock });
    store.write([put(tables.agentAuthority, made)]);
    start();
  });
  afterEach(async () => {
    await runtime.close();
    await authority.close();
  });

  function start(): void {
    const logger = recordingLogger();
    runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
    runtime.register(serversDefinition({ reader: store, clock, authority }));
    runtime.start();
  }
  const servers = serversActor.at('all');
  const add = (of = 'one', takeover = false) =>
    runtime.ask(servers, { type: 'add', name: of, takeover });
  const bootstrap = (token: string, request = csr) => {
    const tokenHash = bootstrapTokenHash(token);
    return runtime.ask(servers, { type: 'bootstrap', tokenHash, csr: request, name });
  };
  const reissue = (serverId: string) => runtime.ask(servers, { type: 'reissue', serverId });
  const remove = (serverId: string, force = false) =>
    runtime.ask(servers, { type: 'remove', serverId, force });
  const renew = (serverId: string, serial: string) =>
    runtime.ask(servers, { type: 'agent-renew', serverId, serial, csr });
  const tell = (message: MessageOf<ServersProtocol>) => runtime.ask(servers, message);
  const record = (serverId: string) => store.get(tables.servers, serverId);
  const admitted = (pem: string) => authority.admit(new X509Certificate(pem));
  const serialOf = (pem: string) => new X509Certificate(pem).serialNumber;
  const refusedToken = (detail: RegExp) => ({ code: 'UNAUTHENTICATED', message: detail });

  it('makes the authority with the first server, and no other one', async () => {
    store = new MemoryStore();
    authority = new AgentAuthority({ reader: store, secrets: plainSecrets, clock });
    await runtime.close();
    start();
    const first = await add();
    const { caKeyHash } = authority;
    const second = await add('two');
    assert.deepEqual(
      [first, second].map(({ bootstrapToken }) => authorityHashIn(bootstrapToken)),
      [caKeyHash, caKeyHash],
    );
    assert.equal(authority.caKeyHash, caKeyHash);
  });

  it('keeps of a token its hash alone', async () => {
    const { server, bootstrapToken } = await add();
    assert.match(bootstrapToken, /^gwb_[0-9A-Za-z]{40}\.[\w-]{43}$/);
    assert.equal(server.agent?.bootstrap?.tokenHash, bootstrapTokenHash(bootstrapToken));
    assert.ok(!JSON.stringify(record(server.id)).includes(bootstrapToken.slice(4, 44)));
  });

  it('takes a name once, and none that cannot be seen', async () => {
    await add();
    await assert.rejects(add(), { code: 'CONFLICT' });
    await assert.rejects(add(' '), { code: 'BAD_USER_INPUT' });
  });

  it('gives one certificate for a token, also when two come at once', async () => {
    const { server, bootstrapToken } = await add();
    const both = await Promise.allSettled([
      bootstrap(bootstrapToken),
      bootstrap(bootstrapToken, requestOf(newAgentKey(), {})),
    ]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    await assert.rejects(bootstrap(bootstrapToken), refusedToken(/good for one.*reissueServer/));
    const [one] = both;
    if (one.status !== 'fulfilled') assert.fail();
    assert.equal(admitted(one.value.certificate), server.id);
    assert.deepEqual([one.value.serverId, one.value.ca], [server.id, authority.caPem]);
    assert.equal(record(server.id)?.agent?.certificates.length, 1);
  });

  it('leaves a token good when the request is not', async () => {
    const { server, bootstrapToken } = await add();
    await assert.rejects(bootstrap(bootstrapToken, 'none'), { code: 'BAD_REQUEST' });
    const foreign = requestOf(newAgentKey(), { subject: 'another' });
    await assert.rejects(bootstrap(bootstrapToken, foreign), { code: 'BAD_REQUEST' });
    const own = requestOf(newAgentKey(), { subject: name });
    assert.equal((await bootstrap(bootstrapToken, own)).serverId, server.id);
  });

  it('refuses a token that nobody gave, and one after 24 hours', async () => {
    const { bootstrapToken } = await add();
    const guessed = bootstrapToken.replace(/^gwb_.{40}/, `gwb_${'0'.repeat(40)}`);
    await assert.rejects(bootstrap(guessed), refusedToken(/not valid/));
    await clock.jump(dayMs);
    await assert.rejects(bootstrap(bootstrapToken), refusedToken(/has expired.*reissueServer/));
  });

  it('revokes token and certificate with another token, and an agent comes in with that', async () => {
    const { server, bootstrapToken } = await add();
    const before = await bootstrap(bootstrapToken);
    await tell({
      type: 'agent-connected',
      serverId: server.id,
      version: '0.1.0',
      runtime: 'process',
    });
    const again = await reissue(server.id);
    assert.equal(admitted(before.certificate), null);
    assert.equal(record(server.id)?.connected, false);
    await assert.rejects(bootstrap(bootstrapToken), refusedToken(/not valid/));
    assert.equal(admitted((await bootstrap(again.bootstrapToken)).certificate), server.id);
  });
  it('removes a server while it is connected, with all that it was given', async () => {
    const { server, bootstrapToken } = await add();
    const { certificate } = await bootstrap(bootstrapToken);
    await tell({
      type: 'agent-connected',
      serverId: server.id,
      version: '0.1.0',
      runtime: 'process',
    });
    assert.equal(await remove(server.id), true);
    assert.equal(admitted(certificate), null);
    await tell({ type: 'agent-lost', serverId: server.id });
    await tell({ type: 'agent-seen', serverId: server.id });
    assert.equal(record(server.id), undefined);
    await assert.rejects(remove(server.id), { code: 'NOT_FOUND' });
    await assert.rejects(reissue(server.id), { code: 'NOT_FOUND' });
    await assert.rejects(renew(server.id, serialOf(certificate)), { code: 'FORBIDDEN' });
  });

  it('keeps a server on which something is, unless it is given up', async () => {
    const { server } = await add();
    const there = { serverId: server.id, uid: 0, slug: 'a', run: { draining: [], ending: [] } };
    store.write([
      put(tables.apps, { ...there, id: 'app_1', deletedAtMs: 1 } as unknown as AppRecord),
      put(tables.databases, {
        ...there,
        id: 'db_1',
        deletedAtMs: null,
      } as unknown as DatabaseRecord),
    ]);
    await assert.rejects(remove(server.id), {
      code: 'CONFLICT',
      message: /1 apps and 1 databases/,
    });
    assert.equal(await remove(server.id, true), true);
  });

  it('keeps a server that something is being moved from or to, even when it is given up', async () => {
    const { server } = await add();
    const moving = (fromServerId: string, toServerId: string, endedAtMs: number | null): void => {
      const at = {
        serverId: 'srv_local',
        uid: 0,
        slug: 'a',
        run: { draining: [] },
        deletedAtMs: null,
      };
      const move = { fromServerId, toServerId, endedAtMs };
      store.write([put(tables.apps, { ...at, id: 'app_1', move } as unknown as AppRecord)]);
    };
    const refused = { code: 'CONFLICT', message: /^1 apps and databases are being moved/ };
    // It starts here: there it goes back when it is not well.
    moving(server.id, 'srv_local', null);
    await assert.rejects(remove(server.id), refused);
    await assert.rejects(remove(server.id, true), refused);
    moving('srv_local', server.id, null);
    await assert.rejects(remove(server.id, true), refused);
    moving('srv_local', server.id, 1);
    assert.equal(await remove(server.id), true);
  });

  it('changes nothing of servers that were not added', async () => {
    const node = { id: 'srv_node', name: 'node', runtime: 'swarm', connected: true } as const;
    store.write([
      put(tables.servers, { ...node, draining: false, version: null, lastSeenAtMs: null }),
    ]);
    await assert.rejects(remove('srv_node'), { code: 'CONFLICT' });
    for (const change of [
      () => remove('srv_local', true),
      () => reissue('srv_local'),
      () => runtime.ask(servers, { type: 'drain', serverId: 'srv_local', drain: true }),
    ]) {
      await assert.rejects(change, { code: 'CONFLICT' });
    }
  });

  it('is not forgotten when a driver lists its own servers, or has lost them', async () => {
    const { server } = await add();
    await tell({
      type: 'agent-connected',
      serverId: server.id,
      version: '0.1.0',
      runtime: 'process',
    });
    await tell({ type: 'seen', servers: [] });
    await tell({ type: 'lost' });
    assert.equal(record(server.id)?.connected, true);
  });

  it('renews a certificate, and leaves the one before good until its end', async () => {
    const { server, bootstrapToken } = await add();
    const first = await bootstrap(bootstrapToken);
    await assert.rejects(renew(server.id, serialOf(first.certificate)), { code: 'RATE_LIMITED' });
    await clock.jump(60 * dayMs);
    const second = await renew(server.id, serialOf(first.certificate));
    assert.deepEqual(
      [first, second].map((one) => admitted(one.certificate)),
      [server.id, server.id],
    );
    await clock.jump(30 * dayMs);
    assert.deepEqual(
      [first, second].map((one) => admitted(one.certificate)),
      [null, server.id],
    );
    await assert.rejects(renew(server.id, serialOf(first.certificate)), { code: 'FORBIDDEN' });
    await renew(server.id, serialOf(second.certificate));
    assert.equal(record(server.id)?.agent?.certificates.length, 2);
  });

  it('keeps few certificates of an agent that loses every answer, but the one that it has', async () => {
    const { server, bootstrapToken } = await add();
    const first = await bootstrap(bootstrapToken);
    let last = first.certificate;
    for (let n = 0; n < 12; n++) {
      await clock.advance(60_000);
      last = (await renew(server.id, serialOf(first.certificate))).certificate;
    }
    assert.equal(record(server.id)?.agent?.certificates.length, 8);
    assert.deepEqual([admitted(first.certificate), admitted(last)], [server.id, server.id]);
  });

  it('tells of an agent what it is, since when it is away, and why it is not let in', async () => {
    const { server } = await add();
    const view = () => {
      const { connected, version, lastSeenAtMs, agent } = record(server.id) ?? assert.fail();
      return [connected, version, lastSeenAtMs, agent?.problem];
    };
    await tell({ type: 'agent-refused', serverId: server.id, problem: 'Update the agent.' });
    assert.deepEqual(view(), [false, null, null, 'Update the agent.']);
    const startMs = clock.now();
    await tell({
      type: 'agent-connected',
      serverId: server.id,
      version: '0.1.0',
      runtime: 'process',
    });
    assert.deepEqual(view(), [true, '0.1.0', startMs, null]);
    await clock.advance(59_999);
    await tell({ type: 'agent-seen', serverId: server.id });
    assert.equal(record(server.id)?.lastSeenAtMs, startMs);
    await clock.advance(1);
    await tell({ type: 'agent-seen', serverId: server.id });
    assert.equal(record(server.id)?.lastSeenAtMs, startMs + 60_000);
    await clock.advance(1000);
    await tell({ type: 'agent-lost', serverId: server.id });
    assert.deepEqual(view(), [false, '0.1.0', startMs + 61_000, null]);
  });

  it('believes after a crash that no agent is connected', async () => {
    const { server } = await add();
    await tell({
      type: 'agent-connected',
      serverId: server.id,
      version: '0.1.0',
      runtime: 'process',
    });
    await tell({ type: 'agents-away' });
    assert.equal(record(server.id)?.connected, false);
  });

  it('drains a server, and lets it work again', async () => {
    const { server } = await add();
    const drain = (on: boolean) =>
      runtime.ask(servers, { type: 'drain', serverId: server.id, drain: on });
    assert.equal((await drain(true)).draining, true);
    assert.equal(record(server.id)?.draining, true);
    assert.equal((await drain(false)).draining, false);
  });

  describe('for a takeover', () => {
    const read = (token: string) =>
      runtime.ask(servers, { type: 'takeover-read', tokenHash: bootstrapTokenHash(token) });
    const report = (token: string, state: 'done' | 'removing' | 'removed' | 'failed') => {
      const tokenHash = bootstrapTokenHash(token);
      return runtime.ask(servers, { type: 'takeover-report', tokenHash, state, reason: null });
    };

    it('goes its steps, and no others', async () => {
      const { server, bootstrapToken: token } = await add('one', true);
      assert.equal((await read(token)).state, 'waiting');
      await assert.rejects(report(token, 'removed'), {
        code: 'ILLEGAL_STEP',
        message: 'The takeover is waiting, not removed: next is done, removing, failed.',
      });
      await clock.advance(1000);
      const { updatedAtMs } = await report(token, 'removing');
      assert.equal(updatedAtMs, clock.now());
      await clock.advance(1000);
      assert.equal((await report(token, 'removing')).updatedAtMs, updatedAtMs);
      await assert.rejects(report(token, 'done'), { code: 'ILLEGAL_STEP' });
      await report(token, 'removed');
      await assert.rejects(report(token, 'failed'), { code: 'ILLEGAL_STEP' });
      assert.equal((await report(token, 'removed')).serverId, server.id);
    });

    it('has a token that is good until a final state was read, whatever it was used for', async () => {
      const { bootstrapToken: token } = await add('one', true);
      await bootstrap(token);
      await report(token, 'done');
      assert.equal((await read(token)).state, 'done');
      await assert.rejects(read(token), refusedToken(/The takeover is over/));
      await assert.rejects(report(token, 'done'), refusedToken(/The takeover is over/));
    });

    it('ends with the token after 24 hours, and goes on with another one', async () => {
      const { server, bootstrapToken: token } = await add('one', true);
      await report(token, 'removing');
      await clock.jump(dayMs);
      await assert.rejects(read(token), refusedToken(/has expired/));
      const again = await reissue(server.id);
      assert.equal((await read(again.bootstrapToken)).state, 'removing');
      await report(again.bootstrapToken, 'failed');
      const third = await reissue(server.id);
      await assert.rejects(read(third.bootstrapToken), refusedToken(/The takeover is over/));
      assert.equal((await bootstrap(third.bootstrapToken)).serverId, server.id);
    });

    it('takes no token of a server that was added without', async () => {
      const { bootstrapToken } = await add();
      await assert.rejects(read(bootstrapToken), refusedToken(/not for a takeover/));
      await assert.rejects(report(bootstrapToken, 'done'), refusedToken(/not for a takeover/));
    });
  });
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Principal } from '../../../../src/auth/callers/principal.ts';
import { Executor } from '../../../../src/graphql/execution/executor.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import type { GraphContext } from '../../../../src/graphql/context.ts';
import { type LayerState, lostWithout } from '../../../../src/protocol/isolation.ts';
import type { ServerRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { person } from '../../../support/accounts-fixture.ts';
import { atMs, GraphqlFixture, settings } from '../../../support/graphql-fixture.ts';

let fixture: GraphqlFixture;
let executor: Executor;

beforeEach(() => {
  fixture = new GraphqlFixture();
  const { limits } = fixture;
  executor = new Executor({
    schema,
    limits,
    onInternal: () => undefined,
    onFault: assert.ifError,
  });
});
afterEach(() => fixture.close());

describe('setMcpSettings', () => {
  async function run(query: string, principal: Principal = fixture.ann): Promise<unknown> {
    const { json } = await executor.answer(query, undefined, {}, fixture.context(principal));
    return JSON.parse(json);
  }

  it('switches MCP for the acting team, and mcpSettings says so', async () => {
    const settings = '{ mcpSettings { enabled } }';
    assert.deepEqual(await run(settings), { data: { mcpSettings: { enabled: true } } });
    for (const enabled of [false, true]) {
      assert.deepEqual(
        await run(`mutation { setMcpSettings(enabled: ${String(enabled)}) { enabled } }`),
        { data: { setMcpSettings: { enabled } } },
      );
      assert.deepEqual(await run(settings), { data: { mcpSettings: { enabled } } });
    }
  });
});

describe('certificates of the instance', () => {
  const query =
    '{ instanceSettings { certificates { host error nextTryAt certificate { issuer } } } }';
  const nextTryAtMs = Date.parse('2026-01-02T03:04:05.678Z');

  async function ask(principal: Principal): Promise<unknown> {
    const appsWildcard = '*.apps.example';
    const publicUrl = 'https://panel.example';
    const { read, ...context } = fixture.context(principal);
    const given = { ...read, settings: { ...settings, appsWildcard, publicUrl } };
    const { json } = await executor.answer(query, undefined, {}, { ...context, read: given });
    const { data } = JSON.parse(json) as {
      data: { instanceSettings: { certificates: unknown } };
    };
    return data.instanceSettings.certificates;
  }

  it('are told to who administers it, with why there is none and when that is tried again', async () => {
    assert.equal(await ask(fixture.ann), null);
    fixture.accounts.addUser('usr_ann', { isInstanceAdmin: true });
    const none = { error: null, nextTryAt: null, certificate: null };
    assert.deepEqual(await ask(fixture.ann), [{ host: '*.apps.example', ...none }]);
    const order = {
      ...{ directory: 'https://ca.example', url: null, key: new Uint8Array(1) },
      ...{ failures: 1, nextTryAtMs, error: 'It refused.' },
    };
    const chain = { chain: '', key: new Uint8Array(1), notBeforeMs: 1, notAfterMs: 2 };
    fixture.accounts.store.write([
      put(tables.certificateOrders, {
        ...order,
        id: 'apps:*.apps.example',
        host: '*.apps.example',
      }),
      put(tables.certificates, {
        ...{ ...chain, id: 'panel:panel.example', names: ['panel.example'], issuer: 'One' },
        managed: true,
      }),
    ]);
    const nextTryAt = '2026-01-02T03:04:05.678Z';
    assert.deepEqual(await ask(fixture.ann), [
      { host: '*.apps.example', error: 'It refused.', nextTryAt, certificate: null },
      { ...none, host: 'panel.example', certificate: { issuer: 'One' } },
    ]);
    assert.equal(await ask(person('usr_bob', 'team_b')), null);
  });
});

describe('instanceStatus', () => {
  const machine = {
    ...{ name: 'one', system: 'Linux 6.1', cores: 2, load: 0.5 },
    ...{ memoryBytes: 8e9, memoryFreeBytes: 5e9, diskBytes: 1e11, diskFreeBytes: 4e10 },
  };
  const status = {
    ...{ version: '1.0.0', installedVersion: '1.1.0', nodeVersion: '22.1.0' },
    ...{ placeAnswers: true, edgeAnswers: null, warnings: ['Something is open.'], machine },
  };

  async function ask(principal: Principal) {
    const { write, ...context } = fixture.context(principal);
    assert.ok(write);
    const instance = () => Promise.resolve({ ...status, startedAtMs: atMs });
    const { json } = await executor.answer(
      `{ instanceStatus { version installedVersion nodeVersion startedAt placeAnswers edgeAnswers warnings
        machine { name system cores load memoryBytes memoryFreeBytes diskBytes diskFreeBytes } } }`,
      undefined,
      {},
      { ...context, write: { ...write, instance } },
    );
    return JSON.parse(json) as {
      data: { instanceStatus: unknown } | null;
      errors?: { extensions: { code: string } }[];
    };
  }

  it('is told to who administers the instance, and to nobody else', async () => {
    const { data, errors } = await ask(fixture.ann);
    assert.deepEqual([data, errors?.[0]?.extensions.code], [null, 'FORBIDDEN']);
    fixture.accounts.addUser('usr_ann', { isInstanceAdmin: true });
    const startedAt = new Date(atMs).toISOString();
    assert.deepEqual(await ask(fixture.ann), {
      data: { instanceStatus: { ...status, startedAt } },
    });
  });
});

describe('servers', () => {
  const seen: ServerRecord = {
    id: 'srv_local',
    name: 'one',
    runtime: 'swarm',
    connected: true,
    draining: false,
    version: '20.10.24',
    lastSeenAtMs: Date.parse('2026-01-02T03:04:05.678Z'),
  };

  async function ask(runtime: string, query: string): Promise<unknown> {
    const context = fixture.context(fixture.ann);
    const server = { id: 'srv_local', name: 'local', runtime, version: null };
    const read = { ...context.read, settings: { ...settings, server } };
    const asking: GraphContext = { ...context, read };
    const { json } = await executor.answer(query, undefined, {}, asking);
    return JSON.parse(json);
  }

  const all = '{ servers { id name runtime connected draining version lastSeenAt } }';

  it('are this machine alone, but on a swarm its nodes', async () => {
    const local = { id: 'srv_local', name: 'local', version: null, lastSeenAt: null };
    const idle = { ...local, draining: false };
    assert.deepEqual(await ask('docker', all), {
      data: { servers: [{ ...idle, runtime: 'docker', connected: true }] },
    });
    assert.deepEqual(await ask('swarm', all), {
      data: { servers: [{ ...idle, runtime: 'swarm', connected: false }] },
    });
    for (const record of [
      { ...seen, id: 'srv_z', name: 'a', connected: false, draining: true, lastSeenAtMs: null },
      { ...seen, id: 'srv_a', name: 'b' },
      seen,
    ]) {
      fixture.accounts.store.write([put(tables.servers, record)]);
    }
    const { lastSeenAtMs, ...rest } = seen;
    const told = { ...rest, lastSeenAt: new Date(lastSeenAtMs ?? 0).toISOString() };
    assert.deepEqual(await ask('swarm', all), {
      data: {
        servers: [
          told,
          { ...told, id: 'srv_z', name: 'a', connected: false, draining: true, lastSeenAt: null },
          { ...told, id: 'srv_a', name: 'b' },
        ],
      },
    });
    assert.deepEqual(await ask('docker', '{ servers { id runtime } }'), {
      data: { servers: [{ id: 'srv_local', runtime: 'docker' }] },
    });
  });

  it('tell of the process runtime which layers of isolation hold, and what is not kept apart without', async () => {
    const layers = '{ servers { name isolation { layer holds missing consequence } } }';
    const nothing = { data: { servers: [{ name: 'local', isolation: null }] } };
    assert.deepEqual(await ask('process', layers), nothing, 'it is not known yet');
    const missing = 'This machine has no ip.';
    const isolation: LayerState[] = [
      { layer: 'pid', missing: null },
      { layer: 'network', missing },
    ];
    const record: ServerRecord = { ...seen, name: 'local', runtime: 'process', isolation };
    fixture.accounts.store.write([put(tables.servers, record)]);
    const consequence = lostWithout.network;
    assert.deepEqual(await ask('process', layers), {
      data: {
        servers: [
          {
            name: 'local',
            isolation: [
              { layer: 'pid', holds: true, missing: null, consequence: null },
              { layer: 'network', holds: false, missing, consequence },
            ],
          },
        ],
      },
    });
    for (const runtime of ['docker', 'swarm'])
      assert.deepEqual(await ask(runtime, layers), nothing);
  });

  it('tell who administers the instance alone why one is not let in or cannot be removed', async () => {
    const bootstrap = { tokenHash: 'x', expiresAtMs: 1, usedAtMs: null };
    const state = 'failed' as const;
    const takeover = { state, updatedAtMs: 1, reason: 'It failed.', isOver: true };
    const problem = 'shop-of-another-team is not moved: The disk is full.';
    const agent = { bootstrap, certificates: [], problem, takeover, teamId: null, createdAtMs: 1 };
    fixture.accounts.store.write([put(tables.servers, { ...seen, id: 'srv_a', agent })]);
    const asked = () => ask('process', '{ servers { id takeover takeoverReason problem } }');
    const local = { id: 'srv_local', takeover: null, takeoverReason: null, problem: null };
    const told = { id: 'srv_a', takeover: 'failed', takeoverReason: null, problem: null };
    assert.deepEqual(await asked(), { data: { servers: [local, told] } });
    fixture.accounts.addUser('usr_ann', { isInstanceAdmin: true });
    const whole = { ...told, takeoverReason: 'It failed.', problem };
    assert.deepEqual(await asked(), { data: { servers: [local, whole] } });
  });
});

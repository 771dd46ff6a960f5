import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Principal } from '../../../../src/auth/callers/principal.ts';
import { type Capability, capabilities, inOrder } from '../../../../src/lib/capabilities.ts';
import { Executor } from '../../../../src/graphql/execution/executor.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { atMs, GraphqlFixture } from '../../../support/graphql-fixture.ts';

interface Page {
  nodes: { id: string }[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  totalCount: number;
}

const query = `query ($first: Int, $after: String, $search: String, $folderId: ID) {
  apps(first: $first, after: $after, search: $search, folderId: $folderId) {
    nodes { id } pageInfo { hasNextPage endCursor } totalCount } }`;

describe('apps of a team with more than are read at a time', () => {
  // Read by the thousand where each has to be looked at.
  const count = 2_100;
  let fixture: GraphqlFixture;
  let executor: Executor;
  let lent: Principal;

  before(() => {
    fixture = new GraphqlFixture(0);
    for (let i = 0; i < count; i++) {
      const folderId = i % 3 === 0 ? 'fld_1' : null;
      fixture.accounts.addApp(`app_n${String(i).padStart(5, '0')}`, 'team_a', { folderId });
    }
    fixture.accounts.addToken('tok_1', 'usr_ann', 'team_a', { folderIds: ['fld_1'] });
    lent = { kind: 'token', userId: 'usr_ann', tokenId: 'tok_1', teamId: 'team_a' };
    const { limits } = fixture;
    executor = new Executor({
      schema,
      limits,
      onInternal: assert.ifError,
      onFault: assert.ifError,
    });
  });
  after(() => fixture.close());

  async function page(variables: object, principal: Principal): Promise<Page> {
    const context = fixture.context(principal);
    const { json } = await executor.answer(query, undefined, { ...variables }, context);
    return (JSON.parse(json) as { data: { apps: Page } }).data.apps;
  }

  /** All pages; the number of different apps on them. */
  async function reached(variables: object, principal: Principal): Promise<number> {
    const seen = new Set<string>();
    let rows = 0;
    for (let after: string | null = null; ;) {
      const { nodes, pageInfo } = await page({ ...variables, first: 400, after }, principal);
      rows += nodes.length;
      for (const { id } of nodes) seen.add(id);
      after = pageInfo.endCursor;
      if (!pageInfo.hasNextPage) break;
    }
    assert.equal(rows, seen.size);
    return seen.size;
  }

  for (const [what, variables, who, expected] of [
    ['all of them', {}, 'ann', count],
    ['those of a folder', { folderId: 'fld_1' }, 'ann', 700],
    ['those of a name', { search: 'n0000' }, 'ann', 10],
    ['those that a token reaches', {}, 'lent', 700],
  ] as const) {
    it(`are counted and reached once each: ${what}`, async () => {
      const principal = who === 'ann' ? fixture.ann : lent;
      for (const first of [1, 500]) {
        assert.equal((await page({ ...variables, first }, principal)).totalCount, expected);
      }
      assert.equal(await reached(variables, principal), expected);
    });
  }
});

describe('the last end of an app', () => {
  let fixture: GraphqlFixture;
  before(() => {
    fixture = new GraphqlFixture();
  });
  after(() => fixture.close());

  const ask = async (principal: Principal): Promise<unknown> => {
    const { limits } = fixture;
    const executor = new Executor({
      schema,
      limits,
      onInternal: assert.ifError,
      onFault: assert.ifError,
    });
    const ends = '{ app(id: "app_1") { restarts lastExit { at code signal reason lastLines } } }';
    const { json } = await executor.answer(ends, undefined, {}, fixture.context(principal));
    return (JSON.parse(json) as { data: { app: unknown } }).data.app;
  };

  it('is none for one that never ended, and comes with its lines for who may see the log', async () => {
    const owner = fixture.ann;
    assert.deepEqual(await ask(owner), { restarts: 0, lastExit: null });
    const app = fixture.accounts.store.get(tables.apps, 'app_1');
    assert.ok(app);
    const exit = { atMs, code: null, signal: 'SIGKILL', reason: 'out_of_memory' } as const;
    const last = { ...exit, workloadId: 'w', log: 'app:app_1', inRow: 1, told: 1, text: 'x' };
    const crashes = { restarts: 2, last, counted: [] };
    fixture.accounts.store.write([put(tables.apps, { ...app, run: { ...app.run, crashes } })]);
    const told = { at: new Date(atMs).toISOString(), code: null, signal: 'SIGKILL' };
    const lastLines = ['one', 'two', 'three', 'four'];
    assert.deepEqual(await ask(owner), {
      restarts: 2,
      lastExit: { ...told, reason: 'out_of_memory', lastLines },
    });
    const { principal } = fixture.accounts.addToken('tok_blind', 'usr_ann', 'team_a', {
      teamIds: ['team_a'],
      capabilities: [],
    });
    assert.deepEqual(await ask(principal), {
      restarts: 2,
      lastExit: { ...told, reason: 'out_of_memory', lastLines: [] },
    });
  });
});

describe('what the caller may do with an app or a database', () => {
  let fixture: GraphqlFixture;
  before(() => {
    fixture = new GraphqlFixture();
  });
  after(() => fixture.close());

  const ask = async (
    principal: Principal,
    rights = '{ of: app(id: "app_1") { capabilities } }',
  ): Promise<unknown> => {
    const { limits } = fixture;
    const executor = new Executor({
      schema,
      limits,
      onInternal: assert.ifError,
      onFault: assert.ifError,
    });
    const { json } = await executor.answer(rights, undefined, {}, fixture.context(principal));
    return (JSON.parse(json) as { data: { of: { capabilities: unknown } } }).data.of.capabilities;
  };

  it('is all for an owner, and for a token what it was given', async () => {
    assert.deepEqual(await ask(fixture.ann), [...capabilities]);
    const { principal } = fixture.accounts.addToken('tok_some', 'usr_ann', 'team_a', {
      appIds: ['app_1'],
      capabilities: ['view_logs', 'deploy_apps'],
    });
    assert.deepEqual(await ask(principal), inOrder(['view_logs', 'deploy_apps']));
  });

  it('counts grants on the folder that a database lies in', async () => {
    const { accounts } = fixture;
    const place = { teamId: 'team_a', deletedAtMs: null, uid: 0 };
    for (const [id, folderId] of [
      ['db_in', 'fld_1'],
      ['db_out', null],
    ] as const) {
      accounts.store.write([put(tables.databases, { ...place, id, folderId } as never)]);
    }
    accounts.addGrant('fld_1', 'usr_vic', ['control_databases', 'reveal_secrets']);
    const vic = { ...fixture.ann, userId: 'usr_vic' };
    const outside = await ask(vic, '{ of: database(id: "db_out") { capabilities } }');
    assert.ok(Array.isArray(outside));
    assert.ok(!outside.includes('control_databases') && !outside.includes('reveal_secrets'));
    assert.deepEqual(
      await ask(vic, '{ of: database(id: "db_in") { capabilities } }'),
      inOrder([...(outside as Capability[]), 'control_databases', 'reveal_secrets']),
    );
  });
});

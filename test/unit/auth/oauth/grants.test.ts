import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { OAuthGrants } from '../../../../src/auth/oauth/grants.ts';
import type { TokenRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let fixture: AccountsFixture;
let grants: OAuthGrants;

beforeEach(() => {
  fixture = new AccountsFixture();
  fixture.addUser('usr_a');
  fixture.addTeam('team_a', 'usr_a');
  grants = new OAuthGrants({
    reader: fixture.store,
    actors: fixture.runtime,
    clock: fixture.clock,
    log: fixture.log,
    subscribe: (listener) => fixture.store.subscribe(listener),
  });
});

afterEach(() => {
  grants.close();
});

function granted(livesMs: number): Promise<TokenRecord> {
  return grants.create({
    userId: 'usr_a',
    teamId: 'team_a',
    client: { clientId: 'client', name: 'A client', host: 'a.test' },
    capabilities: ['view_logs'],
    expiresAtMs: fixture.clock.now() + livesMs,
  });
}

function store(model: string, id: string, fields: Record<string, unknown>): void {
  fixture.store.write([put(tables.auth, { model, id, fields, dates: [] })]);
}

const has = (model: string, id: string): boolean =>
  fixture.store.get(tables.auth, [model, id]) !== undefined;

describe('OAuthGrants', () => {
  it('clears away the tokens of a grant that ends, and no others', async () => {
    const one = await granted(dayMs);
    const other = await granted(dayMs);
    store('oauthAccessToken', 'at_1', { token: 'a', referenceId: one.id });
    store('oauthRefreshToken', 'rt_1', { token: 'b', referenceId: one.id });
    store('oauthAccessToken', 'at_2', { token: 'c', referenceId: other.id });
    await grants.end(one.id);
    assert.equal(grants.find(one.id), undefined);
    await eventually('the rows are gone', () => {
      return !has('oauthAccessToken', 'at_1') && !has('oauthRefreshToken', 'rt_1');
    });
    assert.equal(has('oauthAccessToken', 'at_2'), true);
    await grants.end(one.id);
  });

  it('lets a grant live on, never shorter, and none that ended', async () => {
    const { id } = await granted(hourMs);
    const later = fixture.clock.now() + dayMs;
    assert.equal(await grants.extend(id, later), true);
    assert.equal(await grants.extend(id, later - 1), true);
    assert.equal(grants.find(id)?.expiresAtMs, later);
    await grants.end(id);
    assert.equal(await grants.extend(id, later), false);
  });

  it('sweeps what has run out, and clients that nobody uses', async () => {
    const now = fixture.clock.now();
    const over = await granted(-1);
    const live = await granted(dayMs);
    store('verification', 'v_old', { expiresAt: now - 1 });
    store('verification', 'v_new', { expiresAt: now + 1 });
    const longAgo = now - 31 * dayMs;
    store('oauthClient', 'c_used', { clientId: 'client', createdAt: longAgo });
    store('oauthClient', 'c_unused', { clientId: 'other', createdAt: longAgo });
    store('oauthClient', 'c_new', { clientId: 'third', createdAt: now });
    await grants.sweep();
    assert.equal(fixture.store.get(tables.tokens, over.id), undefined);
    assert.ok(fixture.store.get(tables.tokens, live.id));
    const left = ['c_used', 'c_unused', 'c_new'].filter((id) => has('oauthClient', id));
    assert.deepEqual(left, ['c_used', 'c_new']);
    assert.equal(has('verification', 'v_old'), false);
    assert.equal(has('verification', 'v_new'), true);
  });

  it('clears away new clients that nobody uses when somebody registers too many', async () => {
    const now = fixture.clock.now();
    await granted(dayMs);
    store('oauthClient', 'c_used', { clientId: 'client', createdAt: now - 2 * hourMs });
    store('oauthClient', 'c_flood', { clientId: 'other', createdAt: now - 2 * hourMs });
    store('oauthClient', 'c_new', { clientId: 'third', createdAt: now });
    assert.equal(await grants.hasRoomForClient(4), true);
    assert.equal(has('oauthClient', 'c_flood'), true);
    assert.equal(await grants.hasRoomForClient(3), true);
    const left = ['c_used', 'c_flood', 'c_new'].filter((id) => has('oauthClient', id));
    assert.deepEqual(left, ['c_used', 'c_new']);
    store('oauthClient', 'c_more', { clientId: 'fourth', createdAt: now });
    assert.equal(await grants.hasRoomForClient(3), false);
    await fixture.clock.advance(hourMs + 1);
    assert.equal(await grants.hasRoomForClient(3), true);
  });
});

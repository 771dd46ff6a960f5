import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { NewToken } from '../../../../src/auth/callers/tokens.ts';
import type { SignedIn } from '../../../../src/auth/callers/principal.ts';
import { tokenHash } from '../../../../src/auth/callers/token-codec.ts';
import { teamActor } from '../../../../src/actors/team/protocol.ts';
import { createToken } from '../../../../src/auth/callers/tokens.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture, person } from '../../../support/accounts-fixture.ts';

let given: AccountsFixture;

beforeEach(() => {
  given = new AccountsFixture();
  for (const id of ['owner', 'member', 'viewer', 'stranger']) given.addUser(id);
  given.addTeam('team_a', 'owner');
  given.addTeam('team_b', 'stranger');
  given.addMember('team_a', 'member', 'member');
  given.addMember('team_a', 'viewer', 'viewer');
  given.addApp('app_a', 'team_a');
  given.addApp('app_b', 'team_b');
  given.addFolder('fld_a', 'team_a');
});

afterEach(() => given.close());

const owner = person('owner', 'team_a');
const member = person('member', 'team_a');

function create(
  principal: SignedIn,
  fields: Partial<NewToken> = {},
): ReturnType<typeof createToken> {
  const options = { reader: given.store, actors: given.runtime, clock: given.clock };
  const input = { name: 'ci', capabilities: [], teamIds: [], folderIds: [], appIds: [] };
  return createToken(options, principal, {
    ...input,
    databaseIds: [],
    expiresAtMs: null,
    ...fields,
  });
}

describe('createToken()', () => {
  it('stores the hash, shows the secret once, and means all teams when none is named', async () => {
    const { token, secret } = await create(owner, { name: ' ci ', capabilities: ['deploy_apps'] });
    assert.equal(token.hash, tokenHash(secret));
    assert.equal(token.name, 'ci');
    assert.equal(token.allTeams, true);
    assert.equal(token.homeTeamId, 'team_a');
    assert.ok(secret.startsWith(token.prefix) && token.prefix.length === 8);
    assert.deepEqual(given.store.get(tables.tokens, token.id), token);
    assert.ok(!JSON.stringify(token).includes(secret));
  });

  it('gives no more than the maker holds', async () => {
    await create(member, { capabilities: ['deploy_apps'], appIds: ['app_a'] });
    await assert.rejects(create(member, { capabilities: ['delete_apps'] }), {
      code: 'FORBIDDEN',
      message: /delete_apps/,
    });
    await assert.rejects(create(person('viewer', 'team_a')), {
      code: 'FORBIDDEN',
      message: /manage_tokens/,
    });
    await assert.rejects(create(person('owner')), { code: 'FORBIDDEN' });
  });

  it('leaves none of somebody who is removed at the same moment', async () => {
    const removed = given.runtime.ask(teamActor.at('team_a'), {
      type: 'member-remove',
      userId: 'member',
      by: 'owner',
    });
    // The team's actor handles it behind the removal, which was decided after it was allowed.
    await assert.rejects(create(member), { code: 'FORBIDDEN' });
    assert.equal(await removed, true);
    assert.deepEqual(given.store.list(tables.tokens, 'user', ['member']), []);
  });

  it('knows no node outside of what the maker sees', async () => {
    const unseen: Partial<NewToken>[] = [
      { teamIds: ['team_b'] },
      { teamIds: ['team_a', 'team_b'] },
      { appIds: ['app_b'] },
      { appIds: ['app_none'] },
      { folderIds: ['fld_none'] },
      { databaseIds: ['db_none'] },
    ];
    for (const fields of unseen) {
      await assert.rejects(create(owner, fields), { code: 'NOT_FOUND' }, JSON.stringify(fields));
    }
  });

  it('makes none for a connected client: it would outlive the grant', async () => {
    const oauth = { clientId: 'client', name: 'Client', host: 'client.example' };
    const { principal } = given.addToken('tok_client', 'owner', 'team_a', {
      allTeams: true,
      oauth,
    });
    await assert.rejects(create(principal), { code: 'FORBIDDEN', message: /connected client/ });
  });

  it('lets a token hand on no more than itself', async () => {
    const expiresAtMs = given.clock.now() + 60_000;
    const { token } = await create(owner, {
      capabilities: ['manage_tokens', 'deploy_apps'],
      teamIds: ['team_a'],
      expiresAtMs,
    });
    const maker: SignedIn = {
      kind: 'token',
      userId: 'owner',
      tokenId: token.id,
      teamId: 'team_a',
    };
    const within = { capabilities: ['deploy_apps'], teamIds: ['team_a'], expiresAtMs } as const;
    const made = await create(maker, {
      ...within,
      capabilities: ['deploy_apps'],
      teamIds: ['team_a'],
    });
    assert.equal(made.token.allTeams, false);
    const beyond: Partial<NewToken>[] = [
      { expiresAtMs },
      { teamIds: ['team_a'] },
      { teamIds: ['team_a'], expiresAtMs: expiresAtMs + 1 },
      { teamIds: ['team_a'], expiresAtMs, capabilities: ['manage_env'] },
    ];
    for (const fields of beyond) {
      await assert.rejects(create(maker, fields), { code: 'FORBIDDEN' }, JSON.stringify(fields));
    }
  });

  it('refuses unusable names and times', async () => {
    const bad: Partial<NewToken>[] = [
      { name: '' },
      { name: '   ' },
      { name: 'x'.repeat(101) },
      { name: 'a\u0000b' },
      { expiresAtMs: given.clock.now() },
      { expiresAtMs: given.clock.now() - 1 },
      { expiresAtMs: NaN },
      { appIds: Array.from({ length: 101 }, (_, i) => `app_${i}`) },
    ];
    for (const fields of bad) {
      await assert.rejects(create(owner, fields), { code: 'BAD_USER_INPUT' });
    }
  });

  it('keeps capabilities in the order of the contract, each once', async () => {
    const { token } = await create(owner, {
      capabilities: ['view_logs', 'deploy_apps', 'view_logs'],
    });
    assert.deepEqual(token.capabilities, ['deploy_apps', 'view_logs']);
  });
});

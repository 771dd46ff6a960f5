import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CredentialUses } from '../../../../src/auth/callers/credential-uses.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

let given: AccountsFixture;
let uses: CredentialUses;

beforeEach(() => {
  given = new AccountsFixture();
  given.addUser('usr_ann');
  given.addSession('ses_1', 'usr_ann');
  const { runtime: actors, clock, log } = given;
  uses = new CredentialUses({ actors, clock, log });
});
afterEach(() => given.close());

const seenAt = (id: string): number | undefined =>
  given.store.get(tables.sightings, id)?.lastSeenAtMs;

describe('CredentialUses', () => {
  it('writes when a session was used, once in five minutes', async () => {
    const session = { sessionId: 'ses_1', seenAtMs: 0 };
    const first = given.clock.now();
    uses.noteSession(session, first);
    await given.clock.advance(5_000);
    await eventually('it is noted', () => seenAt('ses_1') === first);
    uses.noteSession(session, given.clock.now());
    await given.clock.advance(5 * 60_000 - 5_000);
    assert.equal(seenAt('ses_1'), first);
    const later = given.clock.now();
    uses.noteSession(session, later);
    uses.close();
    await eventually('it is noted', () => seenAt('ses_1') === later);
  });

  it('leaves nothing of a session that ended', async () => {
    uses.noteSession({ sessionId: 'ses_gone', seenAtMs: 0 }, given.clock.now());
    uses.noteSession({ sessionId: 'ses_1', seenAtMs: 0 }, given.clock.now());
    uses.close();
    await eventually('it is noted', () => seenAt('ses_1') !== undefined);
    assert.equal(seenAt('ses_gone'), undefined);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  PendingSignIns,
  clearPendingCookie,
} from '../../../../src/auth/sign-in/pending-sign-ins.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const checked = { userId: 'usr_ann', passwordHash: 'hash' };
const sentBack = (setCookie: string): string => setCookie.split(';')[0] ?? '';

describe('PendingSignIns', () => {
  it('finds one by its cookie for five minutes, until it ends', async () => {
    const clock = new ManualClock();
    const pending = new PendingSignIns(clock);
    const cookie = sentBack(pending.begin(checked, false));
    const found = pending.of(`other=1; ${cookie}`);
    assert.deepEqual([found.userId, found.passwordHash], ['usr_ann', 'hash']);
    assert.equal(pending.end(found), true);
    assert.equal(pending.end(found), false);
    assert.throws(() => pending.of(cookie), { code: 'UNAUTHENTICATED' });
    const later = sentBack(pending.begin(checked, false));
    await clock.advance(5 * 60_000);
    assert.throws(() => pending.of(later), { code: 'UNAUTHENTICATED' });
  });

  it('takes no cookie it did not give, none at all, and no two', () => {
    const pending = new PendingSignIns(new ManualClock());
    const cookie = sentBack(pending.begin(checked, false));
    for (const off of ['', `${cookie}x`, cookie.slice(0, -1), 'service.two_factor=']) {
      assert.throws(() => pending.of(off), { code: 'UNAUTHENTICATED' });
    }
    assert.throws(() => pending.of(`${cookie}; ${cookie}`), { code: 'BAD_REQUEST' });
  });

  it('hears ten wrong codes', () => {
    const pending = new PendingSignIns(new ManualClock());
    const cookie = sentBack(pending.begin(checked, false));
    for (let i = 0; i < 10; i++) pending.failed(pending.of(cookie));
    assert.throws(() => pending.of(cookie), { code: 'UNAUTHENTICATED' });
  });

  it('sets cookies that are Secure over https', () => {
    const pending = new PendingSignIns(new ManualClock());
    const attributes = 'Path=/; HttpOnly; Secure; SameSite=Lax';
    assert.ok(pending.begin(checked, true).endsWith(`Max-Age=300; ${attributes}`));
    assert.ok(clearPendingCookie(true).endsWith(`Max-Age=0; ${attributes}`));
  });
});

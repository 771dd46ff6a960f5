import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { AttemptLimits } from '../../../../src/auth/sign-in/attempt-limits.ts';
import { networkOf } from '../../../../src/lib/networks.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const minuteMs = 60_000;

let clock: ManualClock;
let limits: AttemptLimits;

beforeEach(() => {
  clock = new ManualClock();
  limits = new AttemptLimits(clock);
});

type Outcome = 'right' | 'wrong';

async function attempt(outcome: Outcome, account = 'ada', address = '192.0.2.1'): Promise<Outcome> {
  const isRight = () => Promise.resolve(outcome === 'right');
  return (await limits.run(account, address, isRight)) ? 'right' : 'wrong';
}

async function fail(times: number, account = 'ada', address = '192.0.2.1'): Promise<void> {
  for (let i = 0; i < times; i++) await attempt('wrong', account, address);
}

describe('AttemptLimits', () => {
  it('refuses the eleventh attempt in 15 minutes, right or wrong, and says when to come again', async () => {
    await fail(9);
    await clock.advance(minuteMs);
    await fail(1);
    for (const outcome of ['right', 'wrong'] as const) {
      await assert.rejects(attempt(outcome), { code: 'RATE_LIMITED', retryAfterS: 14 * 60 });
    }
    await clock.advance(14 * minuteMs);
    assert.equal(await attempt('right'), 'right');
  });

  it('keeps accounts and networks apart', async () => {
    await fail(10);
    assert.equal(await attempt('right', 'bob'), 'right');
    const elsewhere = attempt('right', 'ada', '198.51.100.7');
    await settle();
    await clock.advance(100);
    assert.equal(await elsewhere, 'right');
  });

  it('slows down an account that fails from everywhere, and never refuses it elsewhere', async () => {
    for (let i = 0; i < 10; i++) await fail(1, 'ada', `192.0.2.${i}`);
    const expected = [100, 200, 400, 800, 1_600, 3_000, 3_000];
    for (const [i, delayMs] of expected.entries()) {
      let done = false;
      const slow = attempt('wrong', 'ada', `198.51.100.${i}`).then(() => (done = true));
      await settle();
      await clock.advance(delayMs - 1);
      assert.equal(done, false);
      await clock.advance(1);
      await slow;
    }
    await clock.advance(15 * minuteMs);
    assert.equal(await attempt('right', 'ada', '203.0.113.1'), 'right');
  });

  it('forgets the failures of the one who succeeds', async () => {
    await fail(9);
    await attempt('right');
    await fail(9);
    assert.equal(await attempt('right'), 'right');
  });

  it('does not count what was neither right nor wrong', async () => {
    for (let i = 0; i < 20; i++) {
      const broken = limits.run('ada', '192.0.2.1', () => Promise.reject(new Error('disk full')));
      await assert.rejects(broken, /disk full/);
    }
    assert.equal(await attempt('right'), 'right');
  });

  it('lets many right ones through at once, but no more wrong ones than in turn', async () => {
    const pending: (() => void)[] = [];
    let tried = 0;
    const held = (outcome: Outcome): Promise<string> =>
      limits
        .run('ada', '192.0.2.1', () => {
          tried++;
          const answer = outcome === 'right' ? outcome : null;
          return new Promise<Outcome | null>((resolve) => pending.push(() => resolve(answer)));
        })
        .then((answer) => answer ?? 'wrong')
        .catch((thrown: unknown) => (thrown as { code: string }).code);
    const release = async (): Promise<void> => {
      while (pending.length > 0) {
        for (const resolve of pending.splice(0)) resolve();
        await settle();
      }
    };
    const right = Array.from({ length: 50 }, () => held('right'));
    await settle();
    assert.equal(tried, 10);
    await release();
    assert.deepEqual(new Set(await Promise.all(right)), new Set(['right']));
    tried = 0;
    const wrong = Array.from({ length: 50 }, () => held('wrong'));
    await settle();
    await release();
    const answers = await Promise.all(wrong);
    assert.equal(tried, 10);
    assert.equal(answers.filter((answer) => answer === 'RATE_LIMITED').length, 40);
  });
});

describe('networkOf()', () => {
  it('takes an IPv4 address whole and the first half of an IPv6 one', () => {
    assert.equal(networkOf('192.0.2.1'), '192.0.2.1');
    assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1');
    assert.equal(networkOf('::1'), '0:0:0:0');
    assert.equal(networkOf('2001:db8::1'), '2001:db8:0:0');
    assert.equal(networkOf('2001:0db8:0:0:ffff::2'), '2001:db8:0:0');
    assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2');
    assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0');
  });
});

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';

import type { Clock } from '../../../../src/lib/clock.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { newKey, requestFor } from '../../../../src/programs/agent/bootstrap.ts';
import type { Identity } from '../../../../src/programs/agent/identity.ts';
import { Renewal } from '../../../../src/programs/agent/renewal.ts';
import { agentIssuer, serialOf, type AgentIssuer } from '../../../support/agent-issuer.ts';
import { found } from '../../../support/eventually.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { noLog } from '../../../support/runner.ts';

const dayMs = 24 * 3_600_000;

describe('a renewal', () => {
  /** Of the control plane. */
  const theirs = new ManualClock();
  let ours: ManualClock;
  /** How far the clock of the machine is ahead of it. */
  let aheadMs: number;
  let issuer: AgentIssuer;
  let identity: Identity;
  let asked: unknown[];
  let answer: (csr: string) => Promise<unknown>;

  before(async () => {
    issuer = await agentIssuer(theirs);
  });
  after(() => issuer.close());
  beforeEach(async () => {
    ours = new ManualClock();
    aheadMs = 0;
    asked = [];
    answer = async (csr) => ({ certificate: await issuer.issue(csr, 'srv_a') });
    const key = newKey();
    identity = {
      ...{ serverId: 'srv_a', key, certificate: await issuer.issue(requestFor(key), 'srv_a') },
      ...{ ca: issuer.authority.caPem, control: { host: 'x', port: 1 }, controlUrl: 'x' },
      tokenHash: 'x',
    };
  });

  function renewal(random = 0): Renewal {
    const clock: Clock = {
      now: () => ours.now() + aheadMs,
      after: (delayMs, callback) => ours.after(delayMs, callback),
    };
    return new Renewal({
      identity: () => identity,
      ask: (_name, message) => {
        asked.push(message);
        return answer((message as { csr: string }).csr);
      },
      store: (fresh) => {
        identity = fresh;
      },
      ...{ clock, nowMs: () => ours.now(), logger: noLog, random: () => random },
    });
  }

  function connect(made: Renewal): void {
    made.connected(theirs.now());
    made.look();
  }

  /** On both sides. */
  async function pass(ms: number): Promise<void> {
    await theirs.advance(ms);
    await ours.advance(ms);
  }

  it('takes place at two thirds of the life, and a bit that is no other agent’s', async (t) => {
    for (const [random, dueDays] of [
      [0, 60],
      [1, 64.5],
    ] as const) {
      const before = serialOf(identity.certificate);
      const made = renewal(random);
      t.after(() => made.close());
      connect(made);
      await pass((dueDays - 0.1) * dayMs);
      assert.equal(asked.length, 0);
      await pass(0.2 * dayMs);
      await found('another certificate', () => serialOf(identity.certificate) !== before);
      assert.ok(
        new X509Certificate(identity.certificate).validToDate.getTime() > theirs.now() + 89 * dayMs,
      );
      assert.equal(asked.length, 1);
      made.close();
      asked = [];
    }
  });

  it('goes by the time of the control plane, however wrong that of the machine is', async (t) => {
    const made = renewal();
    t.after(() => made.close());
    await ours.advance(365 * dayMs);
    connect(made);
    await ours.advance(1000);
    assert.equal(asked.length, 0);
    await theirs.advance(61 * dayMs);
    connect(made);
    await found('it asks', () => asked.length === 1);
  });

  for (const [how, wrongMs] of [
    ['ahead', 365 * dayMs],
    ['behind', -365 * dayMs],
  ] as const) {
    it(`takes place once, in time, where the clock was ${how} and is set right behind the connection`, async (t) => {
      const before = serialOf(identity.certificate);
      const made = renewal();
      t.after(() => made.close());
      await theirs.advance(59 * dayMs);
      aheadMs = wrongMs;
      connect(made);
      aheadMs = 0;
      await pass(0.5 * dayMs);
      assert.equal(asked.length, 0);
      await pass(dayMs);
      await found('another certificate', () => serialOf(identity.certificate) !== before);
      await pass(0.5 * dayMs);
      assert.equal(asked.length, 1);
    });
  }

  it('is tried again after an hour, and goes on with what it has until then', async (t) => {
    const certificate = identity.certificate;
    const made = renewal();
    t.after(() => made.close());
    const other = await agentIssuer(theirs);
    t.after(() => other.close());
    const failures: ((csr: string) => Promise<unknown>)[] = [
      () => Promise.reject(new ServiceError('AGENT_UNREACHABLE', 'away')),
      () => Promise.resolve({ certificate: 7 }),
      () => Promise.resolve({ certificate: 'none' }),
      async (csr) => ({ certificate: await other.issue(csr, 'srv_a') }),
      async (csr) => ({ certificate: await issuer.issue(csr, 'srv_b') }),
      async () => ({ certificate: await issuer.issue(requestFor(newKey()), 'srv_a') }),
      () => Promise.reject(new ServiceError('RATE_LIMITED', 'later', { retryAfterS: 3600 })),
    ];
    connect(made);
    let isThrough = false;
    const take = (failure: (csr: string) => Promise<unknown>): void => {
      isThrough = false;
      answer = (csr) => failure(csr).finally(() => (isThrough = true));
    };
    take(failures[0]!);
    // It is issued an hour back.
    await pass(60 * dayMs - 19 * 60_000);
    for (const [index, failure] of failures.entries()) {
      const before = asked.length;
      if (index > 0) {
        take(failure);
        // Not before.
        await pass(55 * 60_000);
        assert.equal(asked.length, before);
        for (let i = 0; i < 10 && asked.length === before; i++) await pass(60_000);
        assert.equal(asked.length, before + 1);
      }
      await found('it is through', () => isThrough);
      await settle();
      assert.equal(identity.certificate, certificate);
    }
    answer = async (csr) => ({ certificate: await issuer.issue(csr, 'srv_a') });
    await found('it is renewed', async () => {
      await pass(10 * 60_000);
      return identity.certificate !== certificate;
    });
  });
});

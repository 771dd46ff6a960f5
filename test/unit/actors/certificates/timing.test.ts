import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  dueInMs,
  grantedMs,
  outageMs,
  refusedMs,
  renewAtMs,
  restMs,
} from '../../../../src/actors/certificates/timing.ts';
import type {
  CertificateOrderRecord,
  CertificateRecord,
} from '../../../../src/store/records/records.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describe('the times of certificates', () => {
  it('renew at two thirds of the life or a little earlier, each at its own time and the same one always', () => {
    const times = Array.from({ length: 50 }, (_, i) => {
      const certificate = { id: `crt_${String(i)}`, notBeforeMs: 0, notAfterMs: 90 * dayMs };
      const atMs = renewAtMs(certificate as CertificateRecord);
      assert.equal(renewAtMs(certificate as CertificateRecord), atMs);
      return atMs;
    });
    assert.ok(Math.max(...times) <= 60 * dayMs && Math.min(...times) >= 55.5 * dayMs);
    assert.ok(new Set(times).size > 40);
    assert.equal(restMs({ notBeforeMs: 0, notAfterMs: 90 * dayMs }), 6 * hourMs);
    assert.equal(restMs({ notBeforeMs: 0, notAfterMs: 6 * minuteMs }), 2 * minuteMs);
  });

  it('wait ever longer behind refusals and outages, as long as the authority asks, within bounds', () => {
    assert.deepEqual(
      [1, 2, 3, 9].map((failures) => refusedMs(failures) / minuteMs),
      [5, 15, 45, 720],
    );
    assert.deepEqual(
      [1, 2, 9].map((outages) => outageMs(outages) / minuteMs),
      [0.5, 1, 15],
    );
    assert.deepEqual([null, 3 * hourMs, 1000 * dayMs].map(grantedMs), [0, 3 * hourMs, 7 * dayMs]);
  });

  it('are due where the clock was set back over them', () => {
    const order = { nextTryAtMs: 100 * dayMs } as CertificateOrderRecord;
    assert.equal(dueInMs(order, 99.5 * dayMs), dayMs / 2);
    assert.equal(dueInMs(order, 101 * dayMs), 0);
    assert.equal(dueInMs(order, 99 * dayMs), 0);
    const held = { ...order, held: { sinceMs: 99 * dayMs, forMs: dayMs } };
    assert.equal(dueInMs(held, 99 * dayMs), dayMs);
    assert.equal(dueInMs(held, 98 * dayMs), 0);
  });
});

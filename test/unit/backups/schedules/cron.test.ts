import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkedCron, jitterOf, nextDue } from '../../../../src/backups/schedules/cron.ts';

const now = Date.parse('2026-10-24T12:00:00Z');

function times(cron: string, timezone: string, from: string, count: number): string[] {
  const found: string[] = [];
  let at: number | null = Date.parse(from);
  while (found.length < count) {
    at = nextDue({ cron, timezone }, at);
    if (at === null) break;
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe('nextDue()', () => {
  it('is due at the end of an hour that the clocks leave out', () => {
    const found = times('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3);
    assert.deepEqual(found, ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30']);
  });

  it('is due once in an hour that comes twice', () => {
    const found = times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2);
    assert.deepEqual(found, ['2026-10-25T00:30', '2026-10-26T01:30']);
  });

  it('is so for each of several minutes and hours, too', () => {
    const berlin = (cron: string, from: string): string[] => times(cron, 'Europe/Berlin', from, 3);
    const [spring, autumn] = ['2026-03-28T12:00:00Z', '2026-10-24T12:00:00Z'];
    assert.deepEqual(berlin('15,45 2 * * *', spring), [
      '2026-03-29T01:00',
      '2026-03-30T00:15',
      '2026-03-30T00:45',
    ]);
    assert.deepEqual(berlin('15 2,14 * * *', spring), [
      '2026-03-28T13:15',
      '2026-03-29T01:00',
      '2026-03-29T12:15',
    ]);
    assert.deepEqual(berlin('0 2,14 * * *', autumn), [
      '2026-10-25T00:00',
      '2026-10-25T13:00',
      '2026-10-26T01:00',
    ]);
    assert.deepEqual(berlin('0 2-3 * * *', autumn), [
      '2026-10-25T00:00',
      '2026-10-25T02:00',
      '2026-10-26T01:00',
    ]);
  });

  it('goes on every so many minutes through an hour that comes twice', () => {
    const found = times('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:59:00Z', 5);
    const halves = ['00:00', '00:30', '01:00', '01:30', '02:00'];
    assert.deepEqual(
      found,
      halves.map((time) => `2026-10-25T${time}`),
    );
  });

  it('knows names, leap days, and days of the week as well as of the month', () => {
    assert.deepEqual(times('@daily', 'UTC', '2026-10-24T12:00:00Z', 1), ['2026-10-25T00:00']);
    assert.deepEqual(times('0 3 29 2 *', 'UTC', '2026-10-24T12:00:00Z', 1), ['2028-02-29T03:00']);
    assert.deepEqual(times('0 3 13 * 5', 'UTC', '2026-11-09T12:00:00Z', 2), [
      '2026-11-13T03:00',
      '2026-11-20T03:00',
    ]);
  });
});

describe('checkedCron()', () => {
  it('takes five fields and names, with any space between them', () => {
    for (const cron of [
      '0 3 * * *',
      ' 0   3 * * MON-FRI ',
      '@hourly',
      '@Weekly',
      '*/5 0,12 * 1-6 *',
    ]) {
      const checked = checkedCron({ cron, timezone: 'UTC' }, now);
      assert.equal(checked.cron, cron.trim().replace(/\s+/g, ' '));
    }
  });

  it('refuses what is no such expression, with a sentence that names the field', () => {
    const wrong = [
      '', '* * * *', '* * * * * *', '61 * * * *', '0 24 * * *', '0 3 32 * *', '@reboot', '@often',
      '2026-12-01T00:00:00', '0 0 31 2 *', 'x '.repeat(100), '0 3 * * *\n0 4 * * *',
    ]; // prettier-ignore
    for (const cron of wrong) {
      assert.throws(() => checkedCron({ cron, timezone: 'UTC' }, now), {
        code: 'BAD_USER_INPUT',
        message: /^cron: "/,
      });
    }
  });

  it('refuses what the time zone database does not name', () => {
    for (const timezone of ['', 'Mars/Base', '+02:00', 'Europe/Berlin; x', 'a'.repeat(200)]) {
      assert.throws(() => checkedCron({ cron: '@daily', timezone }, now), {
        code: 'BAD_USER_INPUT',
        message: /^timezone: "/,
      });
    }
  });
});

describe('jitterOf()', () => {
  const hourly = { cron: '0 * * * *', timezone: 'UTC' };

  it('is the same for a schedule, and spreads schedules', () => {
    const all = Array.from({ length: 200 }, (_, i) => jitterOf(`sch_${i}`, hourly, now, 60_000));
    assert.deepEqual(
      all,
      Array.from({ length: 200 }, (_, i) => jitterOf(`sch_${i}`, hourly, now, 60_000)),
    );
    assert.ok(all.every((ms) => ms >= 0 && ms < 60_000));
    assert.ok(new Set(all).size > 190);
  });

  it('is at most a tenth of the time until it is due again', () => {
    const minutely = { cron: '* * * * *', timezone: 'UTC' };
    for (let i = 0; i < 100; i++) assert.ok(jitterOf(`sch_${i}`, minutely, now, 60_000) < 6_000);
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { BackupOptions } from '../../../../src/actors/backup/deps.ts';
import type { ScheduleChange } from '../../../../src/actors/backup/protocol.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import {
  BackupFixture,
  destinationId,
  hanging,
  once,
  targetId,
} from '../../../support/backup-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { settle } from '../../../support/manual-clock.ts';

const hourMs = 3_600_000;
const unchanged: ScheduleChange = { cron: null, timezone: null, keep: null, enabled: null };

function fixture(t: TestContext, options: Partial<BackupOptions> = {}): BackupFixture {
  const made = new BackupFixture(options);
  t.after(() => made.close());
  return made;
}

const stored = (backups: BackupFixture, id: string) =>
  backups.store.get(tables.backupSchedules, id);

const alarmKeyOf = (id: string) => [`backups:${targetId}`, `due:${id}`];
const alarmOf = (backups: BackupFixture, id: string) =>
  backups.store.get(tables.alarms, alarmKeyOf(id));

// The clock of the fixture stands at 22:13:20.
const nextHour = Date.parse('2023-11-14T23:00:00Z');

describe('a schedule', () => {
  it('is due at its times, and says the next one', async (t) => {
    const backups = fixture(t);
    const { id, nextRunAtMs } = await backups.schedule('0 * * * *');
    assert.equal(nextRunAtMs, nextHour);
    await backups.clock.advance(nextHour - 1 - backups.clock.now());
    assert.equal(backups.runs().length, 0);
    await backups.clock.advance(1);
    await eventually('due', () => backups.runs().length === 1);
    assert.equal(backups.runs()[0]?.scheduleId, id);
    assert.equal(stored(backups, id)?.nextRunAtMs, nextHour + hourMs);
    await backups.until(backups.runs()[0]?.id ?? '', 'success');
  });

  it('begins a little later than its time, each by its own share', async (t) => {
    const backups = fixture(t, { jitterMs: 60_000 });
    const schedules = [await backups.schedule('0 * * * *'), await backups.schedule('0 * * * *')];
    assert.deepEqual(
      schedules.map(({ nextRunAtMs }) => nextRunAtMs),
      [nextHour, nextHour],
    );
    await backups.clock.advance(nextHour - backups.clock.now() + 60_000);
    await eventually('due', () => backups.runs().length === 2);
    const begun = backups.runs().map(({ startedAtMs }) => startedAtMs - nextHour);
    assert.notEqual(begun[0], begun[1]);
    assert.ok(begun.every((late) => late >= 0 && late < 60_000));
  });

  it('passes a time over while a run of it is under way, and says so', async (t) => {
    const backups = fixture(t);
    backups.dump = hanging;
    const { id } = await backups.schedule('*/10 * * * *');
    await backups.clock.advance(20 * 60_000);
    await eventually('skipped', () => backups.runs().length === 2);
    const [first, second] = backups.runs();
    assert.equal(first?.status, 'running');
    assert.equal(second?.status, 'canceled');
    assert.equal(second.scheduleId, id);
    assert.equal(
      second.error,
      `The run before it was still under way: ${first.id} (BACKUP_RUNNING)`,
    );
    assert.ok(backups.logger.records.some(({ event }) => event === 'backup_skipped'));
  });

  it('waits for the run of another schedule of the same target', async (t) => {
    const backups = fixture(t);
    let dumps = 0;
    let most = 0;
    backups.dump = async function* () {
      most = Math.max(most, (dumps += 1));
      yield* once('rows')();
      await settle();
      dumps -= 1;
    };
    await backups.schedule('0 * * * *');
    await backups.schedule('0 * * * *');
    await backups.clock.advance(hourMs);
    await eventually('both', () => backups.runs().every(({ status }) => status === 'success'));
    assert.equal(backups.runs().length, 2);
    assert.equal(most, 1);
  });

  it('is due once for all times that the service was down, and then as ever', async (t) => {
    const backups = fixture(t);
    const { id } = await backups.schedule('0 * * * *');
    await backups.crash();
    backups.dump = once('rows');
    await backups.clock.advance(5 * hourMs);
    assert.equal(backups.runs().length, 0);
    backups.begin();
    await eventually('due', () => backups.runs().length === 1);
    await settle();
    assert.equal(backups.runs().length, 1);
    assert.equal(stored(backups, id)?.nextRunAtMs, nextHour + 5 * hourMs);
  });

  it('is not due while it is switched off, and plans anew when it is switched on', async (t) => {
    const backups = fixture(t);
    const { id: scheduleId } = await backups.schedule('0 * * * *');
    const set = (enabled: boolean) =>
      backups.ask({ type: 'schedule-update', scheduleId, change: { ...unchanged, enabled } });
    assert.equal((await set(false)).nextRunAtMs, null);
    await backups.clock.advance(3 * hourMs);
    assert.equal(backups.runs().length, 0);
    assert.equal((await set(true)).nextRunAtMs, nextHour + 3 * hourMs);
  });

  it('takes other times, and keeps them where something else changes', async (t) => {
    const backups = fixture(t);
    const { id: scheduleId } = await backups.schedule('0 * * * *');
    const update = (change: Partial<ScheduleChange>) =>
      backups.ask({ type: 'schedule-update', scheduleId, change: { ...unchanged, ...change } });
    const moved = await update({ cron: '0 3 * * *', timezone: 'Europe/Berlin' });
    assert.equal(moved.nextRunAtMs, Date.parse('2023-11-15T02:00:00Z'));
    assert.equal((await update({ keep: 2 })).nextRunAtMs, moved.nextRunAtMs);
    await backups.clock.advance(hourMs);
    assert.equal(backups.runs().length, 0);
    await assert.rejects(update({ keep: 0 }), { code: 'BAD_USER_INPUT' });
    await assert.rejects(update({ cron: 'soon' }), { code: 'BAD_USER_INPUT' });
    assert.equal(stored(backups, scheduleId)?.keep, 2);
  });

  it('makes the run that is due already before it takes other times', async (t) => {
    const backups = fixture(t, { jitterMs: 3 * hourMs });
    const { id: scheduleId } = await backups.schedule('0 * * * *');
    const atMs = alarmOf(backups, scheduleId)?.atMs ?? 0;
    // Half of its share of the jitter has passed.
    await backups.clock.advance(Math.floor((nextHour + atMs) / 2) - backups.clock.now());
    const change = { ...unchanged, cron: '30 * * * *', keep: 2 };
    const after = await backups.ask({ type: 'schedule-update', scheduleId, change });
    assert.equal(after.nextRunAtMs, nextHour);
    await backups.clock.advance(atMs - backups.clock.now());
    await eventually('due', () => backups.runs().length === 1);
    assert.equal(stored(backups, scheduleId)?.nextRunAtMs, nextHour + hourMs / 2);
    await backups.clock.advance(hourMs);
    await eventually('due again', () => backups.runs().length === 2);
  });

  it('is not due any more when it is deleted; its runs stay', async (t) => {
    const backups = fixture(t);
    const { id: scheduleId } = await backups.schedule('0 * * * *');
    await backups.clock.advance(hourMs);
    await eventually('done', () => backups.runs()[0]?.status === 'success');
    const message = { type: 'schedule-delete', scheduleId } as const;
    await assert.rejects(backups.ask(message, 'db_two'), { code: 'NOT_FOUND' });
    assert.equal(await backups.ask(message), true);
    await assert.rejects(backups.ask(message), { code: 'NOT_FOUND' });
    await backups.clock.advance(3 * hourMs);
    assert.equal(backups.runs().length, 1);
  });

  it('is refused with a sentence for what does not fit', async (t) => {
    const backups = fixture(t, { schedulesMax: 1 });
    const refused = (code: string, words: RegExp, cron: string, keep?: number, zone?: string) =>
      assert.rejects(backups.schedule(cron, keep, zone), { code, message: words });
    await refused('BAD_USER_INPUT', /^cron: "61 \* \* \* \*" cannot be read/, '61 * * * *');
    await refused('BAD_USER_INPUT', /^timezone: "Mars\/Base"/, '0 3 * * *', 7, 'Mars/Base');
    for (const keep of [0, -1, 1.5, 100_000])
      await refused('BAD_USER_INPUT', /^keep: /, '0 3 * * *', keep);
    const schedule = { destinationId: 'dst_none', cron: '0 3 * * *', timezone: 'UTC', keep: 7 };
    await assert.rejects(backups.ask({ type: 'schedule-create', schedule }), { code: 'NOT_FOUND' });
    await backups.schedule('0 3 * * *');
    await refused('CONFLICT', /at most 1 schedules/, '0 3 * * *');
  });

  it('passes its times over while its target is in trash, and goes with it', async (t) => {
    const backups = fixture(t);
    const { id } = await backups.schedule('0 * * * *');
    const database = backups.store.get(tables.databases, targetId);
    assert.ok(database);
    backups.store.write([put(tables.databases, { ...database, deletedAtMs: 1 })]);
    await backups.clock.advance(hourMs);
    assert.equal(stored(backups, id)?.nextRunAtMs, nextHour + hourMs);
    assert.equal(backups.runs().length, 0);
    backups.store.write([{ op: 'delete', table: 'databases', key: targetId }]);
    await backups.clock.advance(hourMs);
    assert.equal(stored(backups, id), undefined);
  });

  it('does not wait for a time that lies years ahead once the clock is right again', async (t) => {
    const backups = fixture(t);
    const { id } = await backups.schedule('0 * * * *');
    const schedule = stored(backups, id);
    assert.ok(schedule);
    const wrong = nextHour + 10 * 365 * 24 * hourMs;
    backups.store.write([
      put(tables.backupSchedules, { ...schedule, lastDueAtMs: wrong - hourMs, nextRunAtMs: wrong }),
    ]);
    await backups.crash();
    backups.dump = once('rows');
    backups.begin();
    await eventually('planned', () => stored(backups, id)?.nextRunAtMs === nextHour);
    await backups.clock.advance(hourMs);
    await eventually('due', () => backups.runs().length === 1);
  });

  it('waits again behind a start where its alarm was lost', async (t) => {
    const backups = fixture(t);
    const { id } = await backups.schedule('0 * * * *');
    await backups.crash();
    backups.store.write([remove(tables.alarms, alarmKeyOf(id))]);
    backups.dump = once('rows');
    await backups.clock.advance(2 * hourMs);
    backups.begin();
    await eventually('planned', () => backups.store.count(tables.alarms, 'due', []) === 1);
    await backups.clock.advance(0);
    await eventually('due', () => backups.runs().length === 1);
    await backups.clock.advance(hourMs);
    await eventually('due again', () => backups.runs().length === 2);
  });

  it('serves no time twice when the clock is set back a little', async (t) => {
    const backups = fixture(t);
    const { id: scheduleId } = await backups.schedule('0 * * * *');
    const schedule = stored(backups, scheduleId);
    assert.ok(schedule);
    const served = { ...schedule, lastDueAtMs: nextHour, nextRunAtMs: nextHour + hourMs };
    backups.store.write([put(tables.backupSchedules, served)]);
    const change = { ...unchanged, cron: '0 */1 * * *' };
    const after = await backups.ask({ type: 'schedule-update', scheduleId, change });
    assert.equal(after.nextRunAtMs, nextHour + hourMs);
    assert.equal(after.destinationId, destinationId);
  });
});

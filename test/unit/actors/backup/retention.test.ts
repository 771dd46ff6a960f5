import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { BackupOptions } from '../../../../src/actors/backup/deps.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { BackupFixture, once } from '../../../support/backup-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { settle } from '../../../support/manual-clock.ts';

function fixture(t: TestContext, options: Partial<BackupOptions> = {}): BackupFixture {
  const made = new BackupFixture(options);
  t.after(() => made.close());
  return made;
}

describe('retention', () => {
  it('removes the oldest successful runs of a schedule after a new success only', async (t) => {
    const backups = fixture(t);
    await backups.schedule('0 * * * *', 2);
    const count = (): number => backups.store.count(tables.backupRuns, 'kept', []);
    const hour = async (): Promise<void> => {
      const before = backups.runs().length;
      await backups.clock.advance(3_600_000);
      await eventually('ended', () => backups.runs().every((run) => run.finishedAtMs !== null));
      assert.ok(backups.runs().length >= Math.min(before, 2));
      await settle();
    };
    const byHand = await backups.run();
    await backups.until(byHand.id, 'success');
    await hour();
    await hour();
    assert.equal(count(), 2);
    const kept = backups.runs().filter((run) => run.scheduleId !== null);
    backups.dump = async function* () {
      yield* once('half')();
      throw new ServiceError('NOT_RUNNING', 'It ended.');
    };
    await hour();
    assert.deepEqual(
      kept.map(({ id }) => backups.stored(id).status),
      ['success', 'success'],
    );
    backups.dump = once('rows');
    await hour();
    await eventually('removed', () => backups.destination.objects.size === 3);
    assert.equal(count(), 2);
    assert.throws(() => backups.stored(kept[0]?.id ?? ''));
    assert.equal(backups.stored(byHand.id).status, 'success');
  });

  it('keeps the run that has just succeeded though the clock was set back', async (t) => {
    const backups = fixture(t);
    await backups.schedule('0 * * * *', 2);
    const hourMs = 3_600_000;
    const made: string[] = [];
    const hour = async (): Promise<void> => {
      await backups.clock.advance(hourMs);
      const isNew = ({ id }: { id: string }): boolean => !made.includes(id);
      await eventually('another', () => backups.runs().some(isNew));
      const { id } = backups.runs().find(isNew) ?? assert.fail();
      await eventually('its end', () => {
        const run = backups.runs().find((one) => one.id === id);
        return run?.finishedAtMs !== null;
      });
      await settle();
      made.push(id);
    };
    const kept = () => backups.runs().map(({ id }) => made.indexOf(id));
    await backups.clock.jump(48 * hourMs);
    // The one that was due meanwhile.
    await eventually('the first', () => backups.runs()[0]?.status === 'success');
    made.push(backups.runs()[0]?.id ?? '');
    await hour();
    assert.deepEqual(kept(), [0, 1]);
    await backups.crash();
    backups.dump = once('rows');
    await backups.clock.jump(-49 * hourMs);
    backups.begin();
    await hour();
    assert.deepEqual(kept(), [2, 1]);
    await hour();
    assert.deepEqual(kept(), [2, 3]);
    await hour();
    assert.deepEqual(kept(), [3, 4]);
    assert.equal(backups.destination.objects.size, 2);
  });

  it('forgets the oldest runs that came to nothing', async (t) => {
    const backups = fixture(t, { lostMax: 2 });
    backups.dump = () => {
      throw new ServiceError('NOT_RUNNING', 'It is stopped.');
    };
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      const { id } = await backups.run();
      await backups.until(id, 'failed');
      await backups.clock.advance(1);
      ids.push(id);
    }
    assert.deepEqual(
      backups.runs().map(({ id }) => id),
      ids.slice(-3),
    );
  });
});

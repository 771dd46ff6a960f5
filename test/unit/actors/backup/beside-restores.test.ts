import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { BackupFixture, targetId } from '../../../support/backup-fixture.ts';

const hourMs = 3_600_000;

function fixture(t: TestContext) {
  const backups = new BackupFixture();
  t.after(() => backups.close());
  const restore = (
    id: string,
    touchedAtMs: number | undefined,
    finishedAtMs: number | null,
  ): void => {
    const run = { id, targetId, touchedAtMs, finishedAtMs, status: 'running' };
    backups.store.write([put(tables.restoreRuns, run as never)]);
  };
  return { backups, restore };
}

describe('a backup beside a restore of the same target', () => {
  it('is refused while a restore replaces the data, and fails when one did meanwhile', async (t) => {
    const { backups, restore } = fixture(t);
    const nowMs = backups.clock.now();
    restore('rst_1', nowMs, null);
    await assert.rejects(backups.run(), { code: 'RESTORE_RUNNING' });
    restore('rst_1', nowMs - 2, nowMs - 1);
    backups.destination.onStage = (stage) => {
      if (stage === 'finish') restore('rst_2', nowMs, nowMs);
    };
    const torn = await backups.until((await backups.run()).id, 'failed');
    assert.match(torn.error ?? '', /\(RESTORE_RUNNING\)$/);
    assert.ok(backups.destination.isEmpty);
    // One that was only checked has changed nothing.
    restore('rst_3', undefined, null);
    backups.destination.onStage = () => undefined;
    await backups.until((await backups.run()).id, 'success');
  });

  it('fails with one that came meanwhile though the clock was set back before', async (t) => {
    const { backups, restore } = fixture(t);
    backups.destination.onStage = async (stage) => {
      if (stage !== 'finish') return;
      await backups.clock.jump(-hourMs);
      const nowMs = backups.clock.now();
      restore('rst_1', nowMs, nowMs + 1);
    };
    const torn = await backups.until((await backups.run()).id, 'failed');
    assert.match(torn.error ?? '', /\(RESTORE_RUNNING\)$/);
    assert.ok(backups.destination.isEmpty);
  });

  it('is made behind one that ended while the clock was ahead', async (t) => {
    const { backups, restore } = fixture(t);
    const aheadMs = backups.clock.now() + 24 * hourMs;
    restore('rst_1', aheadMs, aheadMs + 1);
    await backups.until((await backups.run()).id, 'success');
  });
});

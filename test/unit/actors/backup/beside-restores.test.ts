import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { BackupFixture, targetId } from '../../../support/backup-fixture.ts';

describe('a backup beside a restore of the same target', () => {
  it('is refused while a restore replaces the data, and fails when one did meanwhile', async (t) => {
    const backups = new BackupFixture();
    t.after(() => backups.close());
    const restore = (touchedAtMs: number | undefined, finishedAtMs: number | null): void => {
      const run = { id: 'rst_1', targetId, touchedAtMs, finishedAtMs, status: 'running' };
      backups.store.write([put(tables.restoreRuns, run as never)]);
    };
    const nowMs = backups.clock.now();
    restore(nowMs, null);
    await assert.rejects(backups.run(), { code: 'RESTORE_RUNNING' });
    restore(nowMs - 2, nowMs - 1);
    backups.destination.onStage = (stage) => {
      if (stage === 'finish') restore(nowMs, nowMs);
    };
    const torn = await backups.until((await backups.run()).id, 'failed');
    assert.match(torn.error ?? '', /\(RESTORE_RUNNING\)$/);
    assert.ok(backups.destination.isEmpty);
    // One that was only checked has changed nothing.
    restore(undefined, null);
    backups.destination.onStage = () => undefined;
    await backups.until((await backups.run()).id, 'success');
  });
});

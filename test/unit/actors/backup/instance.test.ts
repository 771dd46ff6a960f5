import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { instanceTarget } from '../../../../src/actors/backup/protocol.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { BackupFixture, destinationId } from '../../../support/backup-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

function fixture(t: TestContext): BackupFixture {
  const made = new BackupFixture();
  t.after(() => made.close());
  return made;
}

describe('a backup of the instance', () => {
  const id = instanceTarget;

  it('goes to a destination that encrypts, or nowhere', async (t) => {
    const backups = fixture(t);
    const schedule = { destinationId, cron: '@daily', timezone: 'UTC', keep: 1 };
    await assert.rejects(backups.run(id), { code: 'ENCRYPTION_REQUIRED' });
    const create = backups.ask({ type: 'schedule-create', schedule }, id);
    await assert.rejects(create, { code: 'ENCRYPTION_REQUIRED' });
    backups.recipient = 'age1';
    const none = backups.ask({ type: 'run', destinationId: 'dst_none' }, id);
    await assert.rejects(none, { code: 'NOT_FOUND' });
    const { id: runId } = await backups.run(id);
    const run = await backups.until(runId, 'success');
    assert.deepEqual(
      [run.kind, run.targetId, run.teamId, run.encrypted, run.source],
      ['instance', 'instance', 'team_one', true, 'instance'],
    );
    assert.match(run.key ?? '', /^instance-20231114T221320Z-run_\w+\.dump\.gz\.age$/);
  });

  it('follows its schedule, of which as many stay as it keeps', async (t) => {
    const backups = fixture(t);
    backups.recipient = 'age1';
    const schedule = { destinationId, cron: '0 * * * *', timezone: 'UTC', keep: 1 };
    const { teamId } = await backups.ask({ type: 'schedule-create', schedule }, id);
    assert.equal(teamId, 'team_one');
    const runs = () => backups.store.list(tables.backupRuns, 'target', [id]);
    for (let hour = 0; hour < 2; hour++) {
      const before = runs().at(-1)?.id;
      await backups.clock.advance(3_600_000);
      await eventually('the next one', () => {
        const last = runs().at(-1);
        return last?.status === 'success' && last.id !== before && runs().length === 1;
      });
    }
    assert.equal(backups.destination.objects.size, 1);
  });
});

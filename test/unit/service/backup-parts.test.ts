import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { AddressPolicy } from '../../../src/lib/address-policy.ts';
import { GuardedFetch } from '../../../src/lib/guarded-fetch.ts';
import { BackupParts } from '../../../src/service/backup-parts.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { plainSecrets } from '../../support/plain-secrets.ts';
import { recordingLogger } from '../../support/silent-logger.ts';

function partsOf(t: TestContext): BackupParts {
  const dataDir = mkdtempSync(join(tmpdir(), 'gangway-backup-parts-'));
  const policy = new AddressPolicy({ privateNetworks: [], ownPorts: () => [] });
  const parts = new BackupParts({
    config: {
      ...{ dataDir, backupRoots: [] },
      ...{ backupConcurrency: 3, backupTimeoutMinutes: 7, backupJitterSeconds: 11 },
    },
    reader: new MemoryStore(),
    clock: new ManualClock(),
    logger: recordingLogger(),
    secrets: plainSecrets as never,
    fetch: new GuardedFetch({ policy }),
  });
  t.after(async () => {
    await parts.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return parts;
}

const never = new AbortController().signal;

describe('what backups are made with', () => {
  it('backupConcurrency lets so many backups go on at once', async (t) => {
    const { turns } = partsOf(t).deps;
    let running = 0;
    for (let i = 0; i < 5; i++) void turns.take('team_one', never).then(() => (running += 1));
    await settle();
    assert.equal(running, 3);
  });

  it('backupTimeoutMinutes end a backup that takes longer', (t) => {
    assert.equal(partsOf(t).deps.options.deadlineMs, 7 * 60_000);
  });

  it('backupJitterSeconds bound how much later a schedule begins', (t) => {
    assert.equal(partsOf(t).deps.options.jitterMs, 11_000);
  });

  it('know no destination that is not there', (t) => {
    const { deps } = partsOf(t);
    assert.equal(deps.teamOfDestination('dst_none'), null);
    assert.throws(() => deps.openDestination('dst_none'), { code: 'NOT_FOUND' });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { recover, restorerOf } from '../../../../src/actors/restore/restorers.ts';
import type { AppRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

describe('restores of what is on another server', () => {
  const reader = new MemoryStore();
  reader.write([put(tables.apps, { id: 'app_far', serverId: 'srv_far', uid: 0 } as AppRecord)]);
  // Whatever they would touch of this machine is not there.
  const parts = { reader } as unknown as Parameters<typeof restorerOf>[0];
  const of = { kind: 'app', targetId: 'app_far', isReplaced: true };

  it('are refused before anything of this machine is touched', async () => {
    await assert.rejects(restorerOf(parts, of as never), {
      code: 'CONFLICT',
      message: /on another server/,
    });
  });

  it('have nothing to put back', async () => {
    assert.equal(await recover(parts, of as never, new AbortController().signal), 'previous');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { DatabaseCore } from '../../../../src/actors/database/core.ts';
import { engines } from '../../../../src/actors/database/engines/engines.ts';
import { moveHost } from '../../../../src/actors/database/move-host.ts';
import type { RestoreHost } from '../../../../src/actors/restore/restore-work.ts';
import type { Place } from '../../../../src/places/place.ts';
import type { DatabaseEngine } from '../../../../src/store/records/records.ts';
import { scriptedTools, testMachine } from '../../../support/machine.ts';

/** Asks for a place without any engine. */
function check(engine: DatabaseEngine): Promise<void> {
  const core = {
    engine: engines[engine],
    require: () => ({ id: 'db_1', teamId: 'team_1', engine, version: '18.4' }),
    deps: { reader: { list: () => [], get: () => undefined } },
  } as unknown as DatabaseCore;
  const machine = testMachine('/nowhere', { tools: scriptedTools });
  const to = { serverId: 'srv_other', machine: () => Promise.resolve(machine) };
  return moveHost(core, {} as RestoreHost).check(to as unknown as Place, true);
}

describe('a database that is to be moved', () => {
  it('has to have its engine there', async () => {
    await assert.rejects(check('REDIS'), { code: 'ENGINE_NOT_AVAILABLE' });
  });

  it('stays where its files name whole paths', async () => {
    await assert.rejects(check('CLICKHOUSE'), { code: 'CONFLICT' });
  });
});

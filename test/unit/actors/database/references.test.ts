import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pendingIn, referencesIn, resolved } from '../../../../src/actors/database/references.ts';
import type { DatabaseRecord } from '../../../../src/store/records.ts';
import { put } from '../../../../src/store/table.ts';
import { tables } from '../../../../src/store/tables.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';

const teamId = 'team_1';

async function storeWith(patch: Partial<DatabaseRecord>): Promise<MemoryStore> {
  const reader = new MemoryStore();
  const database = { id: 'db_1', teamId, deletedAtMs: null, nextPasswordSealed: null, ...patch };
  const changes = [put(tables.databases, database as DatabaseRecord)];
  await reader.commit({ actor: '', epoch: 0, changes });
  return reader;
}

describe('references to databases', () => {
  const secret = 'hunter2-of-ann';

  it('are refused where they only look like some, without a word of what stands behind', () => {
    for (const value of [`\${database.db_1.url ${secret}`, `\${database.${secret}}`]) {
      assert.throws(
        () => referencesIn(value),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'BAD_USER_INPUT');
          assert.match(error.message, /\$\{database\./);
          return !error.message.includes(secret);
        },
      );
    }
  });

  it('are waited for, whatever stands in values that are older than the rules', async () => {
    const reader = await storeWith({ status: 'provisioning' });
    const old = `\${database. ${secret}`;
    assert.deepEqual(pendingIn([old, `\${database.what}`], { reader, teamId }), []);
    assert.deepEqual(pendingIn([`\${database.db_1.url} ${old}`], { reader, teamId }), ['db_1']);
    const options = { reader, secrets: plainSecrets, teamId, inContainers: false };
    assert.equal(resolved('OLD', old, options), old);
  });
});

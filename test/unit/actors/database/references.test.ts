import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { awaitDatabases } from '../../../../src/actors/app/variables.ts';
import { pendingIn, referencesIn, resolved } from '../../../../src/actors/database/references.ts';
import type { DatabaseRecord } from '../../../../src/store/records.ts';
import { put } from '../../../../src/store/table.ts';
import { tables } from '../../../../src/store/tables.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { ScriptedDriver } from '../../../support/scripted-driver.ts';

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
    const pending = (value: string): string[] => pendingIn([value], { reader, teamId }).starting;
    assert.deepEqual([...pending(old), ...pending(`\${database.what}`)], []);
    assert.deepEqual(pending(`\${database.db_1.url} ${old}`), ['db_1']);
    const options = { reader, secrets: plainSecrets, teamId, inContainers: false };
    assert.equal(resolved('OLD', old, options), old);
  });

  it('are waited for as long as a start may take, and a few seconds for another password', async () => {
    const rotating = { status: 'running', nextPasswordSealed: Buffer.from('x') } as const;
    for (const [patch, waitedMs, line] of [
      [{ status: 'provisioning' }, 60_000, 'Waiting for the database db_1 to start.'],
      [rotating, 5000, 'Waiting for the database db_1 to take its new password.'],
    ] as const) {
      const reader = await storeWith(patch);
      const variable = { id: 'env_1', appId: 'app_1', key: 'URL', isSecret: false, sealed: null };
      const value = `\${database.db_1.url}`;
      const row = {
        ...variable,
        value,
        masked: '',
        targets: ['production'],
        updatedAtMs: 0,
      } as const;
      await reader.commit({
        actor: '',
        epoch: 0,
        changes: [put(tables.env, { ...row, targets: [...row.targets] })],
      });
      let atMs = 0;
      const after = (delayMs: number, callback: () => void): (() => void) => {
        atMs += delayMs;
        queueMicrotask(callback);
        return () => undefined;
      };
      const clock = { now: () => atMs, after };
      const parts = { reader, secrets: plainSecrets, driver: new ScriptedDriver(), clock };
      const said: string[] = [];
      const say = (text: string): void => void said.push(text);
      const { signal } = new AbortController();
      await awaitDatabases(parts, { id: 'app_1', teamId }, { timeoutMs: 60_000, say, signal });
      assert.deepEqual([atMs, said], [waitedMs, [line]]);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { storeReferences } from '../../../../../src/actors/app/settings/stored-references.ts';
import { awaitDatabases, toRecord } from '../../../../../src/actors/app/settings/variables.ts';
import {
  appsReferringTo,
  pendingIn,
  referencesIn,
  resolved,
  toldApps,
} from '../../../../../src/actors/database/settings/references.ts';
import type {
  AppRecord,
  DatabaseRecord,
  InstanceRecord,
  PreviewRecord,
} from '../../../../../src/store/records/records.ts';
import { put } from '../../../../../src/store/records/table.ts';
import { tables } from '../../../../../src/store/records/tables.ts';
import { MemoryStore } from '../../../../support/memory-store.ts';
import { plainSecrets } from '../../../../support/plain-secrets.ts';
import { ScriptedDriver } from '../../../../support/scripted-driver.ts';

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

  it('are no use on another server than that of the database', async () => {
    const reader = await storeWith({ status: 'running', serverId: 'srv_other' });
    const place = { serverId: 'srv_local', inContainers: false };
    const options = { reader, secrets: plainSecrets, teamId, ...place };
    assert.throws(() => resolved('URL', `\${database.db_1.host}`, options), {
      code: 'NOT_RUNNING',
      message: /URL refers to the database db_1, which is on another server than the app\./,
    });
  });

  it('are waited for, whatever stands in values that are older than the rules', async () => {
    const reader = await storeWith({ status: 'provisioning' });
    const old = `\${database. ${secret}`;
    const pending = (value: string): string[] => pendingIn([value], { reader, teamId }).starting;
    assert.deepEqual([...pending(old), ...pending(`\${database.what}`)], []);
    assert.deepEqual(pending(`\${database.db_1.url} ${old}`), ['db_1']);
    const place = { serverId: 'srv_local', inContainers: false };
    const options = { reader, secrets: plainSecrets, teamId, ...place };
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

  it('are known of values that are sealed, also of those that were stored before', async () => {
    const store = await storeWith({});
    const app = (id: string, more: Partial<AppRecord> = {}) =>
      put(tables.apps, { id, teamId, slug: id, uid: 0, deletedAtMs: null, ...more } as AppRecord);
    const variable = (appId: string, value: string) => {
      const targets = ['production'] as const;
      const entry = { key: 'URL', value, isSecret: true, targets: [...targets] };
      return toRecord(plainSecrets, appId, `env_${appId}`, entry, 1);
    };
    const url = `\${database.db_1.url}`;
    const { refersTo, ...old } = variable('app_old', `${url} \${database. ${secret}`);
    assert.deepEqual(refersTo, ['db_1']);
    const instance = { id: 'instance', instanceId: 'x' } as InstanceRecord;
    const changes = [
      ...[app('app_old'), app('app_new'), app('app_none')],
      ...[app('app_gone', { deletedAtMs: 1 }), app('app_far', { teamId: 'team_2' })],
      put(tables.instance, instance),
      put(tables.env, old),
      ...['app_new', 'app_gone', 'app_far'].map((id) => put(tables.env, variable(id, url))),
      put(tables.env, variable('app_none', 'database.db_1.url')),
      put(tables.env, { ...old, id: 'env_lost', appId: 'app_lost', sealed: Buffer.from('?') }),
    ];
    await store.commit({ actor: '', epoch: 0, changes });
    const secrets = {
      ...plainSecrets,
      open: (sealed: Uint8Array, context: string): string => {
        if (sealed.length === 1) throw new Error('sealed with another key');
        return plainSecrets.open(sealed, context);
      },
    };
    const users = () => appsReferringTo(store, { id: 'db_1', teamId }).map(({ id }) => id);
    assert.deepEqual(users(), ['app_new']);
    await storeReferences(store, secrets);
    assert.deepEqual(users(), ['app_new', 'app_old']);
    const preview = { appId: 'app_new', hasApp: true, isPending: false };
    store.write([
      put(tables.previews, { ...preview, id: 'app_shown' } as PreviewRecord),
      put(tables.previews, { ...preview, id: 'app_closed', hasApp: false } as PreviewRecord),
    ]);
    assert.deepEqual(toldApps(store, { id: 'db_1', teamId }), ['app_new', 'app_shown', 'app_old']);
    const { position } = store;
    await storeReferences(store, secrets);
    assert.equal(store.position, position, 'it looks once');
  });
});

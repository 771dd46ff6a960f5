import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toRecord } from '../../../../src/actors/app/settings/variables.ts';
import { sealPassword } from '../../../../src/actors/database/settings/secrets.ts';
import { openDatabase } from '../../../../src/mcp/redaction/database-secrets.ts';
import { Redactor } from '../../../../src/mcp/redaction/redactor.ts';
import { valueOf } from '../../../../src/actors/app/settings/variables.ts';
import type { DatabaseRecord } from '../../../../src/store/records/records.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appRecord } from '../../../support/graphql-fixture.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';

function database(id: string, teamId: string, password: string): DatabaseRecord {
  return {
    id,
    teamId,
    name: 'Main store',
    engine: 'POSTGRES',
    version: '18.4',
    status: 'running',
    error: null,
    folderId: null,
    serverId: 'local',
    resources: { memoryMb: null, cpus: null, pids: null, replicas: 1 },
    databaseName: 'storefront',
    username: 'storekeeper',
    passwordSealed: sealPassword(plainSecrets, id, 'password', password),
    nextPasswordSealed: null,
    adminSealed: sealPassword(plainSecrets, id, 'admin', `${password}-of-admin`),
    run: {
      seq: 1,
      made: true,
      initJob: null,
      live: `${id}-1`,
      next: null,
      ending: [],
      port: 40_001,
      image: null,
      crashing: false,
    },
    desired: 'running',
    uid: 0,
    createdAtMs: 0,
    updatedAtMs: 0,
    deletedAtMs: null,
  };
}

const first = database('db_1', 'team_1', 'violet-piano-4');
const foreign = database('db_9', 'team_2', 'orange-drum-7');
const url = 'postgres://storekeeper:violet-piano-4@127.0.0.1:40001/storefront';
const inside = 'postgres://storekeeper:violet-piano-4@db-1.internal:5432/storefront';
const aPassword = '[redacted: password]';
const aUrl = '[redacted: connection string]';

function world() {
  const store = new MemoryStore();
  const log = memoryLogger();
  const opened: string[] = [];
  const redactor = new Redactor({
    reader: store,
    subscribe: (listener) => store.subscribe(listener),
    open: (record) => valueOf(plainSecrets, record),
    openConnection: () => [],
    openDatabase: (record) => {
      opened.push(record.id);
      return openDatabase(plainSecrets, record);
    },
    log,
  });
  const write = (...records: DatabaseRecord[]): void => {
    store.write(records.map((record) => put(tables.databases, record)));
  };
  const set = (appId: string, key: string, value: string, isSecret = true): void => {
    const entry = { key, value, isSecret, targets: [] };
    store.write([put(tables.env, toRecord(plainSecrets, appId, `env_${key}`, entry, 0))]);
  };
  store.write([
    put(tables.apps, appRecord('app_1', 'team_1', { slug: 'storeroom' })),
    put(tables.apps, appRecord('app_9', 'team_2')),
  ]);
  write(first, foreign);
  const ofApp = (text: string): string => redactor.redact(text, 'team_1', 'app_1');
  const ofTeam = (text: string): string => redactor.redact(text, 'team_1');
  return { store, log, opened, redactor, write, set, ofApp, ofTeam };
}

function rotated(record: DatabaseRecord, next: string): DatabaseRecord {
  const passwordSealed = sealPassword(plainSecrets, record.id, 'password', next);
  return { ...record, passwordSealed, retiredSealed: [record.passwordSealed] };
}

describe('secrets of databases', () => {
  it('are taken out of what tells of an app, or of a team, and of no other team', () => {
    const { redactor, ofApp, ofTeam } = world();
    const text = 'given violet-piano-4 and violet-piano-4-of-admin, not orange-drum-7';
    const left = `given ${aPassword} and ${aPassword}, not orange-drum-7`;
    assert.equal(ofApp(text), left);
    assert.equal(ofTeam(text), left);
    assert.equal(redactor.redact('orange-drum-7', 'team_2', 'app_9'), aPassword);
    assert.equal(redactor.redact('violet-piano-4', 'team_2', 'app_9'), 'violet-piano-4');
  });

  it('are found in the forms of other secrets, connection strings whole', () => {
    const { ofApp } = world();
    for (const secret of [url, inside]) {
      assert.equal(ofApp(`at ${secret} now`), `at ${aUrl} now`);
      const forms = [
        Buffer.from(`${secret}?a`).toString('base64'),
        encodeURIComponent(secret),
        secret.replaceAll('/', '\\/'),
      ];
      for (const form of forms) assert.equal(ofApp(`${form} now`), `${aUrl} now`, form);
    }
    const base64 = Buffer.from('violet-piano-4\n').toString('base64');
    assert.equal(ofApp(`PW ${base64} end`), `PW ${aPassword} end`);
    const json = JSON.stringify({ env: { url, note: 'say "violet-piano-4"' } });
    assert.deepEqual(JSON.parse(ofApp(json)), { env: { url: aUrl, note: `say "${aPassword}"` } });
  });

  it('are known a moment after they change, with those before them', () => {
    const { ofApp, ofTeam, write, opened } = world();
    assert.equal(ofApp('scarlet-organ-9'), 'scarlet-organ-9');
    const nextPasswordSealed = sealPassword(plainSecrets, 'db_1', 'next', 'scarlet-organ-9');
    write({ ...first, nextPasswordSealed });
    assert.equal(ofApp('scarlet-organ-9'), aPassword);
    write(rotated(first, 'scarlet-organ-9'));
    for (const redact of [ofApp, ofTeam]) {
      assert.equal(redact('violet-piano-4, scarlet-organ-9'), `${aPassword}, ${aPassword}`);
      assert.equal(redact(url), aUrl);
      assert.equal(redact(url.replace('violet-piano-4', 'scarlet-organ-9')), aUrl);
    }
    assert.deepEqual(opened, ['db_1', 'db_1', 'db_1']);
  });

  it('that were rotated away are known to who looks later', () => {
    const { ofApp, write } = world();
    write(rotated(first, 'scarlet-organ-9'));
    assert.equal(ofApp('violet-piano-4'), aPassword);
    assert.equal(ofApp(Buffer.from(url).toString('base64')), aUrl);
  });

  it('are opened once, whatever else changes of a database', async () => {
    const { ofApp, write, opened, redactor } = world();
    await redactor.open('team_1', true);
    assert.equal(redactor.open('team_1', true), null);
    for (let i = 0; i < 3; i++) {
      ofApp('violet-piano-4');
      write({ ...first, status: 'stopped', updatedAtMs: i });
    }
    await redactor.open('team_1', false);
    assert.equal(ofApp('violet-piano-4'), aPassword);
    assert.deepEqual(opened, ['db_1']);
  });

  it('stay in trash what they are, and end with the database', () => {
    const { ofApp, write, store } = world();
    write({ ...first, deletedAtMs: 5 });
    store.write([
      put(tables.trash, {
        id: 'trs_1',
        teamId: 'team_1',
        kind: 'database',
        targetId: 'db_1',
        name: '',
        deletedAtMs: 5,
        purgeAtMs: 6,
      }),
    ]);
    assert.equal(ofApp('violet-piano-4'), aPassword);
    store.write([remove(tables.databases, 'db_1')]);
    assert.equal(ofApp('violet-piano-4'), 'violet-piano-4');
  });

  it('are known of a database that was just made', () => {
    const { ofApp, write } = world();
    assert.equal(ofApp('yellow-flute-2'), 'yellow-flute-2');
    const run = { ...first.run, port: null };
    const made = { ...database('db_2', 'team_1', 'yellow-flute-2'), run };
    write(made);
    assert.equal(ofApp('yellow-flute-2'), aPassword);
    const address = url.replace('violet-piano-4', 'yellow-flute-2').replace('40001', '40002');
    write({ ...made, run: { ...run, port: 40_002 } });
    assert.equal(ofApp(Buffer.from(address).toString('base64')), aUrl);
  });

  it('are left out for who does not see the database, unless the app refers to it', () => {
    const { redactor, set } = world();
    const seesNothing = (): boolean => false;
    const told = (text: string): string => redactor.redact(text, 'team_1', 'app_1', seesNothing);
    assert.equal(told('violet-piano-4'), 'violet-piano-4');
    assert.equal(
      redactor.redact('violet-piano-4', 'team_1', undefined, seesNothing),
      'violet-piano-4',
    );
    set('app_1', 'DATABASE_URL', '${database.db_1.url}');
    assert.equal(
      told(`violet-piano-4 ${url}`),
      '[redacted: variable DATABASE_URL] [redacted: variable DATABASE_URL]',
    );
  });

  it('are not what everybody knows of a database or its team', () => {
    const { ofApp, write } = world();
    for (const name of ['storefront', 'storekeeper', 'Main store', 'storeroom', 'postgresql']) {
      write(rotated(first, name));
      assert.equal(ofApp(name), name);
    }
  });

  it('that cannot be opened are told in the log', () => {
    const { ofApp, write, log } = world();
    // @ts-expect-error Nothing makes such a record.
    write({ ...first, adminSealed: null });
    assert.equal(ofApp('violet-piano-4'), 'violet-piano-4');
    assert.deepEqual(
      log.events.map(({ event }) => event),
      ['redaction_value_unreadable'],
    );
  });
});

describe('variables that refer to a database', () => {
  const marked = '[redacted: variable SETTINGS]';

  it('are what the reference stands for, in both places', () => {
    const { ofApp, set } = world();
    set('app_1', 'SETTINGS', 'pw=${database.db_1.password} at ${database.db_1.host}, pin 4711');
    for (const host of ['127.0.0.1', 'db-1.internal']) {
      const value = `pw=violet-piano-4 at ${host}, pin 4711`;
      assert.equal(ofApp(`${Buffer.from(value).toString('base64')} end`), `${marked} end`);
    }
  });

  it('follow the password of the database', () => {
    const { ofApp, set, write } = world();
    set('app_1', 'SETTINGS', 'url ${database.db_1.url}');
    const base64 = (password: string): string =>
      Buffer.from(`url ${url.replace('violet-piano-4', password)}`).toString('base64');
    assert.equal(ofApp(base64('violet-piano-4')), marked);
    write(rotated(first, 'scarlet-organ-9'));
    assert.equal(ofApp(base64('scarlet-organ-9')), marked);
    assert.equal(ofApp(base64('violet-piano-4')), marked);
  });

  it('are secret when they say they are not, and no secret for the name of a host or user', () => {
    const { ofApp, set, redactor } = world();
    set('app_1', 'SETTINGS', 'postgres-is ${database.db_1.url}', false);
    set('app_1', 'USER_NAME', '${database.db_1.username}');
    assert.equal(
      redactor.redact('violet-piano-4', 'team_1', 'app_1', () => false),
      marked,
    );
    assert.equal(ofApp('storekeeper postgres-is'), 'storekeeper postgres-is');
  });

  it('lead nowhere outside of the team', () => {
    const { ofApp, set } = world();
    set('app_1', 'SETTINGS', '${database.db_9.url}');
    set('app_1', 'GONE', '${database.db_8.url} and more');
    assert.equal(ofApp('orange-drum-7'), 'orange-drum-7');
  });
});

describe('a variable with an address', () => {
  it('hides the password in it also where that stands alone', () => {
    const { ofApp, set } = world();
    set('app_1', 'ELSEWHERE', 'mysql://ann:green%20tuba%205@db.example.com:3306/shop');
    set('app_1', 'LOCAL', 'mysql://wordpress:wordpress@db.example.com/shop');
    const mark = '[redacted: variable ELSEWHERE]';
    assert.equal(ofApp('as green tuba 5, as green%20tuba%205'), `as ${mark}, as ${mark}`);
    assert.equal(ofApp('wordpress shop of ann'), 'wordpress shop of ann');
  });
});

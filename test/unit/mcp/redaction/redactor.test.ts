import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { openGitSecrets } from '../../../../src/actors/git/connection.ts';
import { Redactor, type RedactorLimits } from '../../../../src/mcp/redaction/redactor.ts';
import type { EnvRecord, GitConnectionRecord } from '../../../../src/store/records/records.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appRecord } from '../../../support/graphql-fixture.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';

const app = appRecord('app_1', 'team_1', { slug: 'my-shop', name: 'My shop' });
const other = appRecord('app_2', 'team_1');
const foreign = appRecord('app_3', 'team_2');

function variable(appId: string, key: string, value: string, isSecret = true): EnvRecord {
  return {
    id: `env_${key}`,
    appId,
    key,
    isSecret,
    value: isSecret ? null : value,
    sealed: isSecret ? Buffer.from(value) : null,
    masked: '••••••••',
    targets: ['production'],
    updatedAtMs: 0,
  };
}

function world(limits: Partial<RedactorLimits> = {}) {
  const store = new MemoryStore();
  const log = memoryLogger();
  const opened: string[] = [];
  const open = (record: Readonly<EnvRecord>): string | null => {
    opened.push(`${record.appId}:${record.key}`);
    if (record.key === 'BROKEN') throw new Error('no key');
    return record.sealed && Buffer.from(record.sealed).toString();
  };
  const subscribe: MemoryStore['subscribe'] = (listener) => store.subscribe(listener);
  store.write([
    ...[app, other, foreign].map((one) => put(tables.apps, one)),
    put(tables.env, variable('app_1', 'DATABASE_URL', 'hunter2-one')),
    put(tables.env, variable('app_2', 'API', 'hunter2-two')),
    put(tables.env, variable('app_3', 'API', 'hunter2-three')),
  ]);
  const openConnection = (record: Readonly<GitConnectionRecord>): string[] =>
    openGitSecrets(plainSecrets, record);
  const openDatabase = (): never => {
    throw new Error('no databases here');
  };
  const redactor = new Redactor({
    reader: store,
    subscribe,
    open,
    openDatabase,
    openConnection,
    log,
    limits,
  });
  const ofApp = (text: string): string => redactor.redact(text, 'team_1', 'app_1');
  const ofTeam = (text: string): string => redactor.redact(text, 'team_1');
  const set = (...records: EnvRecord[]): void => {
    store.write(records.map((record) => put(tables.env, record)));
  };
  return { store, log, opened, redactor, ofApp, ofTeam, set };
}

describe('Redactor', () => {
  it('withholds whole texts behind so many secrets that nobody is shown them, and no others', () => {
    const { redactor, ofApp } = world();
    const secrets = ['http://ann:pw1@host', 'TOKEN=abc123', 'hunter2-one'];
    const lines = Array.from({ length: 6_000 }, (_, i) => `${i} ${secrets[i % 3] ?? ''} end`);
    const mixed = lines.flatMap((line, i) => [line, `${String(i)} plain`]);
    const clean = JSON.parse(redactor.redact(JSON.stringify(mixed), 'team_1', 'app_1')) as string[];
    assert.equal(clean.length, mixed.length);
    assert.deepEqual(clean.slice(0, 2), ['0 http://ann:[redacted: password]@host end', '0 plain']);
    assert.deepEqual(clean.slice(-2), ['[redacted: secret]', '5999 plain']);
    assert.doesNotMatch(clean.join('\n'), /pw1|abc123|hunter2/);
    assert.equal(ofApp('://a:pw1@'.repeat(5_000)), '[redacted: secret]');
    assert.equal(ofApp('at hunter2-one!').slice(0, 12), 'at [redacted');
  });

  it('takes out the values of an app and names the variable', () => {
    const { ofApp } = world();
    assert.equal(ofApp('at hunter2-one!'), 'at [redacted: variable DATABASE_URL]!');
    assert.equal(ofApp('at hunter2-two!'), 'at hunter2-two!');
  });

  it('takes out the values of all apps of a team and of no other', async () => {
    const { ofTeam } = world();
    assert.equal(
      ofTeam('hunter2-one hunter2-two hunter2-three'),
      '[redacted: variable DATABASE_URL] [redacted: variable API] hunter2-three',
    );
  });

  it('takes out the secrets of git connections, of one that is gone too', () => {
    const { redactor, store, ofApp, ofTeam } = world();
    ofTeam('opens the team');
    const id = 'gc_1';
    const seal = (secret: string, what: string): Uint8Array =>
      plainSecrets.seal(secret, `${what}:${id}`);
    const connection: GitConnectionRecord = {
      ...{ id, teamId: 'team_1', provider: 'gitlab', label: 'x', baseUrl: 'x', username: null },
      tokenSealed: seal('glpat-hunter2', 'git-token'),
      secretSealed: seal('hunter2-webhook', 'git-webhook-secret'),
      ...{ hookHash: 'x', createdAtMs: 0 },
    };
    store.write([put(tables.gitConnections, connection)]);
    const text = 'fetch with glpat-hunter2 and hunter2-webhook';
    const clean = 'fetch with [redacted: git token] and [redacted: git token]';
    assert.equal(ofApp(text), clean);
    assert.equal(
      redactor.redact(text, 'team_1', undefined, () => false),
      clean,
    );
    store.write([remove(tables.gitConnections, id)]);
    assert.equal(ofTeam(text), clean);
    assert.equal(redactor.redact('hunter2-webhook', 'team_2'), 'hunter2-webhook');
  });

  it('takes out of a team only what the caller sees', async () => {
    const { redactor } = world();
    const sees = (appId: string): boolean => appId === 'app_2';
    assert.equal(
      redactor.redact('hunter2-one hunter2-two', 'team_1', undefined, sees),
      'hunter2-one [redacted: variable API]',
    );
  });

  it('has nothing to wait for where a team, or an app of it, is open', async () => {
    const { redactor, opened } = world();
    await redactor.open('team_1', true);
    assert.equal(redactor.open('team_1', true), null);
    assert.deepEqual(opened, []);
    await Promise.all([redactor.open('team_1', false), redactor.open('team_1', false)]);
    assert.equal(redactor.open('team_1', false), null);
    assert.deepEqual(opened, ['app_1:DATABASE_URL', 'app_2:API']);
  });

  it('opens each value once', async () => {
    const { ofApp, opened } = world();
    for (let i = 0; i < 5; i++) ofApp('text');
    assert.deepEqual(opened, ['app_1:DATABASE_URL']);
  });

  it('knows a value that was set a moment ago, and the one it replaced', async () => {
    const { ofApp, ofTeam, set } = world();
    ofApp('');
    ofTeam('');
    set(variable('app_1', 'DATABASE_URL', 'swordfish'), variable('app_1', 'NEW', 'correct horse'));
    const left =
      '[redacted: variable DATABASE_URL], [redacted: variable DATABASE_URL], [redacted: variable NEW]';
    assert.equal(ofApp('hunter2-one, swordfish, correct horse'), left);
    assert.equal(ofTeam('hunter2-one, swordfish, correct horse'), left);
  });

  it('knows what was removed, and forgets what its owner shows', () => {
    const { ofApp, store, set } = world();
    ofApp('');
    store.write([remove(tables.env, ['app_1', 'DATABASE_URL'])]);
    assert.equal(ofApp('hunter2-one'), '[redacted: variable DATABASE_URL]');
    set(variable('app_1', 'DATABASE_URL', 'hunter2-one', false));
    assert.equal(ofApp('hunter2-one'), 'hunter2-one');
  });

  it('keeps a bounded number of values that were replaced', () => {
    const { ofApp, set } = world();
    ofApp('');
    for (let i = 0; i < 100; i++) set(variable('app_1', 'DATABASE_URL', `value-${String(i)}-`));
    assert.equal(ofApp('value-98-'), '[redacted: variable DATABASE_URL]');
    assert.equal(ofApp('value-10-'), 'value-10-');
  });

  it('remembers no text as clean that is not so any more', () => {
    const { ofApp, set } = world();
    assert.equal(ofApp('swordfish'), 'swordfish');
    assert.equal(ofApp('swordfish'), 'swordfish');
    set(variable('app_1', 'FISH', 'swordfish'));
    assert.equal(ofApp('swordfish'), '[redacted: variable FISH]');
  });

  it('follows apps into a team and out of it', async () => {
    const { ofTeam, store } = world();
    ofTeam('');
    store.write([put(tables.apps, { ...foreign, teamId: 'team_1' })]);
    store.write([put(tables.apps, { ...other, deletedAtMs: 1 })]);
    assert.equal(ofTeam('hunter2-three hunter2-two'), '[redacted: variable API] hunter2-two');
  });

  it('sees what changes while a team is being opened', async () => {
    const { redactor, store, set, ofTeam } = world();
    const pending = redactor.open('team_1', false);
    set(variable('app_1', 'LATE', 'late-arrival'), variable('app_2', 'LATE', 'later-arrival'));
    store.write([put(tables.apps, { ...foreign, teamId: 'team_1' })]);
    await pending;
    const left = ofTeam('late-arrival later-arrival hunter2-three');
    assert.equal(
      left,
      '[redacted: variable LATE] [redacted: variable LATE] [redacted: variable API]',
    );
  });

  it('tells of a value that cannot be opened, and goes on with the others', () => {
    const { ofApp, set, log } = world();
    set(variable('app_1', 'BROKEN', 'whatever'));
    assert.equal(ofApp('hunter2-one'), '[redacted: variable DATABASE_URL]');
    assert.deepEqual(
      log.events.map(({ event }) => event),
      ['redaction_value_unreadable'],
    );
  });

  it('leaves values that are no secret to who sees the app', () => {
    const { ofApp, set } = world();
    set(
      variable('app_1', 'NODE_ENV', 'production'),
      variable('app_1', 'NAME', 'my-shop'),
      variable('app_1', 'URL', 'http://my-shop.localhost:3080'),
      variable('app_1', 'SHORT', 'abcde'),
    );
    const text = 'my-shop in production at http://my-shop.localhost:3080/ abcde';
    assert.equal(ofApp(text), text);
  });

  it('keeps no more than its bounds and opens again what went', () => {
    for (const limits of [{ teams: 1 }, { chars: 10 }]) {
      const { redactor, opened } = world(limits);
      const at = (teamId: string, appId: string): string =>
        redactor.redact('hunter2-one hunter2-three', teamId, appId);
      assert.equal(at('team_1', 'app_1'), '[redacted: variable DATABASE_URL] hunter2-three');
      assert.equal(at('team_2', 'app_3'), 'hunter2-one [redacted: variable API]');
      assert.equal(at('team_1', 'app_1'), '[redacted: variable DATABASE_URL] hunter2-three');
      assert.deepEqual(opened, ['app_1:DATABASE_URL', 'app_3:API', 'app_1:DATABASE_URL']);
    }
  });

  it('says when a team has more than is kept', () => {
    const { ofTeam, log } = world({ chars: 10 });
    ofTeam('');
    assert.deepEqual(
      log.events.map(({ event, fields }) => [event, fields]),
      [['redaction_values_left_out', { owner: 'app_2', teamId: 'team_1' }]],
    );
  });

  it('redacts at once for an app by id or slug, and for a team that is not ready', async () => {
    const { redactor } = world();
    const both = 'hunter2-one hunter2-two';
    const one = '[redacted: variable DATABASE_URL] hunter2-two';
    const all = '[redacted: variable DATABASE_URL] [redacted: variable API]';
    assert.equal(redactor.redact(both, 'team_1', 'app_1'), one);
    assert.equal(redactor.redact(both, 'team_1', 'my-shop'), one);
    const opening = redactor.open('team_1', false);
    assert.equal(redactor.redact(both, 'team_1'), all);
    await opening;
    assert.equal(redactor.redact(both, 'team_1'), all);
    assert.equal(redactor.redact(both, 'team_1', 'nothing'), all);
    // An app of another team is none of this one's.
    assert.equal(redactor.redact('hunter2-three', 'team_1', 'app_3'), 'hunter2-three');
  });

  it('tells JSON from a text that only begins like it', () => {
    const { redactor } = world();
    const json = JSON.stringify({ a: 'say "hunter2-one"', n: 1 });
    assert.deepEqual(JSON.parse(redactor.redact(json, 'team_1')), {
      a: 'say "[redacted: variable DATABASE_URL]"',
      n: 1,
    });
    assert.equal(
      redactor.redact('[info] hunter2-one {done}', 'team_1'),
      '[info] [redacted: variable DATABASE_URL] {done}',
    );
  });

  it('forgets everything when it is closed', () => {
    const { redactor, opened, set } = world();
    redactor.redact('', 'team_1', 'app_1');
    redactor.close();
    set(variable('app_1', 'LATE', 'late-arrival'));
    assert.deepEqual(opened, ['app_1:DATABASE_URL']);
  });

  it('takes a password out of YAML, whatever the case of its key', () => {
    const { ofApp } = world();
    const yaml = 'db:\n  image: postgres\n  password: lower22\n  - rootPassword: camel22\n';
    assert.equal(ofApp(yaml), yaml.replace(/lower22|camel22/g, '[redacted: password]'));
    assert.equal(ofApp('password: was not given'), 'password: was not given');
  });

  it('knows a line of a private key where its beginning is on another page, and no digest', () => {
    const { ofApp } = world();
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const lines = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim().split('\n');
    for (const text of lines.slice(1, -2)) {
      for (const page of [JSON.stringify([{ text }]), JSON.stringify([`${text}\r`])]) {
        assert.ok(!ofApp(page).includes(text), page);
      }
    }
    const kept = {
      digest: createHash('sha256').update('x').digest('hex'),
      words: 'a'.repeat(64),
      endCursor: 'bG9nOjBtd3Fhd2xuODFtMjA0YWk6NjYx'.repeat(2),
    };
    assert.deepEqual(JSON.parse(ofApp(JSON.stringify(kept))), kept);
  });

  it('takes out the lines of a value that a log shows one by one', () => {
    const { ofApp, set } = world();
    set(variable('app_1', 'KEY', '{\n  "first": "of the key",\n  "second": "part"\n}\n'));
    const nodes = ['  "first": "of the key",', '2026-11-21 "second": "part"', '}'];
    const json = ofApp(JSON.stringify({ nodes: nodes.map((text) => ({ text })) }));
    assert.deepEqual(JSON.parse(json), {
      nodes: [
        { text: '  [redacted: variable KEY]' },
        { text: '2026-11-21 [redacted: variable KEY]' },
        { text: '}' },
      ],
    });
  });
});

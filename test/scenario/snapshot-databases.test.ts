/** A copy of a data directory whose databases and apps run, served beside the original. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Databases, rowsOf, runMariadb } from '../support/databases.ts';
import type { DatabaseInfo } from '../support/databases.ts';
import { archiveOf } from '../support/gangway-client.ts';
import type { AppInfo } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

const noRedis = needs('redis-server', 'redis-cli');
const noMariadb = needs('mariadbd', 'mariadb');
const set = 'SET key kept';

describe('a snapshot of what runs', () => {
  let folder: string;
  let original: Gangway;
  let copy: Gangway;
  let app: AppInfo;
  let made: DatabaseInfo[];
  const postgres = (): DatabaseInfo => found('POSTGRES');

  function found(engine: string): DatabaseInfo {
    const one = made.find((database) => database.engine === engine);
    assert.ok(one, engine);
    return one;
  }

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gangway-copy-'));
    chmodSync(folder, 0o711);
    original = await Gangway.open();
    copy = await Gangway.create({ dataDir: join(folder, 'data') });
    const databases = new Databases(original);
    const engines = [
      'POSTGRES',
      ...(noRedis === false ? ['REDIS'] : []),
      ...(noMariadb === false ? ['MARIADB'] : []),
    ];
    app = await original.client.createApp('Site');
    made = await Promise.all(engines.map((engine) => databases.running({ name: engine, engine })));
    await original.client.mustUpload(app.id, archiveOf({ 'index.html': 'hi' }));
    await original.client.must('mutation($id: ID!) { redeploy(appId: $id) { id } }', {
      id: app.id,
    });
    await until('the app serves', 60_000, () => isServed(original));
  });
  after(() => copy.end());
  after(() => original.end());
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const isServed = async ({ client }: Gangway): Promise<boolean> =>
    (await client.visit(app.slug)).status === 200;

  it('is served beside the original, with all that the databases were told', async () => {
    const there = new Databases(original);
    const url = await there.reveal(postgres().id);
    await rowsOf(url, 'CREATE TABLE kept (n int)', 'INSERT INTO kept VALUES (0)');
    if (noRedis === false) await there.exec(found('REDIS').id, set);
    if (noMariadb === false) {
      await runMariadb(await there.reveal(found('MARIADB').id), 'CREATE TABLE kept (n int)');
    }
    // The server writes while it is copied.
    const end = new AbortController();
    const writing = (async () => {
      let n = 0;
      // Each on its own, many over one connection: those cost more than what is written.
      const next = (): string => `INSERT INTO kept VALUES (${String(++n)})`;
      while (!end.signal.aborted) await rowsOf(url, ...Array.from({ length: 50 }, next));
      return n;
    })();
    const taken = await original.run(['snapshot', join(folder, 'copy'), '--with-key']);
    end.abort();
    assert.ok((await writing) > 0);
    assert.equal(taken.code, 0, taken.text);
    assert.match(taken.text, /^gangway: [\d,]+ files, [\d.]+ MB\nCopied to \S+\n$/);
    const data = join(folder, 'copy', 'apps', postgres().id, 'data');
    assert.deepEqual(
      readdirSync(data).filter((name) => name.startsWith('postmaster')),
      [],
    );

    assert.equal((await copy.run(['restore', join(folder, 'copy')])).code, 0);
    await copy.start();
    copy.client = await copy.signIn();
    const here = new Databases(copy);
    for (const { id } of made) {
      await until('it runs beside the original', 90_000, async () => {
        const { status, error } = await here.mustSee(id);
        assert.ok(!(error ?? '').startsWith('It exited'), error ?? '');
        return status === 'running' && (await here.reveal(id)) !== (await there.reveal(id));
      });
    }
    const rows = await rowsOf(await here.reveal(postgres().id), 'SELECT n FROM kept ORDER BY n');
    assert.deepEqual(
      rows,
      rows.map((_row, n) => ({ n })),
      'as of one moment',
    );
    assert.ok(rows.length > 0);
    await until('its app serves', 60_000, () => isServed(copy));
    assert.ok(await isServed(original));
    for (const { id } of made) assert.equal((await there.mustSee(id)).status, 'running');
  });

  it('has what Redis was told', { skip: noRedis }, async () => {
    const { output } = await new Databases(copy).exec(found('REDIS').id, 'GET key');
    assert.match(output, /kept/);
  });

  it('has what MariaDB was told', { skip: noMariadb }, async () => {
    const url = await new Databases(copy).reveal(found('MARIADB').id);
    assert.match(await runMariadb(url, 'SHOW TABLES'), /kept/);
  });

  it('of which one is in error for what its server said', async () => {
    const here = new Databases(copy);
    const { id } = postgres();
    const setRunning = (running: boolean) =>
      copy.client.must(
        'mutation($id: ID!, $running: Boolean!) { setDatabaseRunning(id: $id, running: $running) { id } }',
        { id, running },
      );
    await setRunning(false);
    const { password } = new URL(await here.reveal(id));
    const settings = join(copy.dataDir, 'apps', id, 'data', 'postgresql.auto.conf');
    await appendFile(settings, `work_mem = '${password}'\n`);
    await setRunning(true);
    await here.becomes(id, 'error');
    const { error } = await here.mustSee(id);
    assert.match(error ?? '', /^It exited with code 1\. It said: .*contains errors/);
    assert.ok(!(error ?? '').includes(password));
  });
});

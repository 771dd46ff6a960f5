/** What is in place when something ends within a restore. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  beginBackup,
  beginRestore,
  endedRestore,
  endedRun,
  makeDestination,
  type Restore,
  seenRestore,
} from '../support/backups-over-graphql.ts';
import { Databases, runMariadb } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { processesOf, runnerOf, signal } from '../support/processes.ts';
import { needs } from '../support/programs.ts';

/** It does not serve what says that it hangs. */
const app = `const fs = require('node:fs');
const note = fs.readFileSync(process.env.APP_DATA_DIR + '/note', 'utf8');
if (note === 'hang') setInterval(() => undefined, 1000);
else require('node:http').createServer((_, answer) => answer.end(note)).listen(process.env.PORT)`;

describe('a restore', () => {
  let gangway: Gangway;
  let destinationId: string;
  before(async () => {
    gangway = await Gangway.open({
      provoked: /restore_not_recovered|restore_failed|database_(lost|ended)|runner|lost/,
    });
    destinationId = await makeDestination(gangway.client, 'Disk');
  });
  after(() => gangway.end());

  const backedUp = async (of: { appId?: string; databaseId?: string }): Promise<string> => {
    const { id } = await beginBackup(gangway.client, { ...of, destinationId });
    assert.equal((await endedRun(gangway.client, id)).status, 'success');
    return id;
  };

  it('of an app puts the previous files back when the service is killed before it is well', async () => {
    const { client } = gangway;
    const { id: appId, slug } = await client.createApp('Notes');
    const root = join(gangway.dataDir, 'apps', appId);
    const note = join(root, 'data', 'note');
    await client.mustUpload(appId, archiveOf({ 'app.js': app, Procfile: 'web: node app.js\n' }));
    const deploying = client.deployed(appId);
    // It crashes until it has its note.
    await eventually('it has its folder', () => existsSync(join(root, 'data')));
    writeFileSync(note, 'first');
    await deploying;
    writeFileSync(note, 'hang');
    const run = await backedUp({ appId });
    writeFileSync(note, 'second');
    const { id } = await beginRestore(client, run);
    // Between the two names of an exchange there is none.
    const isHanging = (): boolean => existsSync(note) && readFileSync(note, 'utf8') === 'hang';
    await eventually('the new files are live', isHanging);
    await gangway.kill9();
    await gangway.start();
    const { status, error, log } = await endedRestore(client, id);
    assert.equal(status, 'failed');
    assert.match(error ?? '', /The previous data is in place\. \(RESTORE_INTERRUPTED\)$/);
    assert.ok(log.includes('The previous data is in place.'));
    assert.equal(readFileSync(note, 'utf8'), 'second');
    assert.ok(!readdirSync(root).some((name) => /going|coming|leaving|restoring/.test(name)));
    await eventually('it answers', async () => (await client.visit(slug)).text === 'second');
  });

  describe('of a MariaDB', { skip: needs('mariadbd', 'mariadb') }, () => {
    let databases: Databases;
    let databaseId: string;
    let url: string;
    let run: string;
    before(async () => {
      databases = new Databases(gangway);
      databaseId = (await databases.running({ engine: 'MARIADB' })).id;
      url = await databases.reveal(databaseId);
      await runMariadb(url, "CREATE TABLE teas (name TEXT); INSERT INTO teas VALUES ('backed up')");
      run = await backedUp({ databaseId });
      await runMariadb(
        url,
        "DELETE FROM teas; INSERT INTO teas VALUES ('live'); CREATE VIEW few AS SELECT * FROM teas; CREATE TRIGGER told BEFORE INSERT ON teas FOR EACH ROW SET NEW.name = 'told'",
      );
    });

    /** Keeps the exchange from going on. */
    const holder = (): ChildProcess => {
      const { hostname, port, username, password, pathname } = new URL(url);
      const place = ['--no-defaults', '--protocol=tcp', `--host=${hostname}`, `--port=${port}`];
      const held = 'LOCK TABLES teas READ; SELECT SLEEP(1000)';
      const args = [...place, `--user=${username}`, pathname.slice(1), '-e', held];
      return spawn('/usr/bin/mariadb', args, { env: { ...process.env, MYSQL_PWD: password } });
    };
    const files = (): string => join(gangway.dataDir, 'apps', databaseId, 'data');

    /** A restore that has begun its exchange, and waits. */
    const begun = async (): Promise<Restore> => {
      const { id } = await beginRestore(gangway.client, run);
      await eventually('its exchange', () => existsSync(join(files(), 'gangway@002dexchange')));
      const taking = 'It takes the place of the live one.';
      await eventually('it waits', async () =>
        (await seenRestore(gangway.client, id)).log.includes(taking),
      );
      return await seenRestore(gangway.client, id);
    };
    const mustBeAsBefore = async (): Promise<void> => {
      await databases.becomes(databaseId, 'running');
      url = await databases.reveal(databaseId);
      assert.equal(await runMariadb(url, 'SELECT * FROM few'), 'name\nlive\n');
      const insert = "INSERT INTO teas VALUES ('x'); SELECT name FROM teas; DELETE FROM teas WHERE name = 'told'"; // prettier-ignore
      assert.equal(await runMariadb(url, insert), 'name\nlive\ntold\n');
      const left = readdirSync(files()).filter((name) => name.startsWith('gangway@'));
      assert.deepEqual(left, []);
    };

    const victims: Record<string, () => Promise<void> | void> = {
      'the service': async () => {
        await gangway.kill9();
        await gangway.start();
      },
      'the server': () => {
        const isServer = /^\S*mariadbd .*db_/;
        for (const { pid, command } of processesOf(gangway.dataDir)) {
          if (isServer.test(command)) signal(pid, 'SIGKILL');
        }
      },
      'the runner': () => {
        signal(runnerOf(gangway.dataDir)?.pid ?? 0, 'SIGKILL');
      },
    };
    for (const [victim, kill] of Object.entries(victims)) {
      it(`puts the previous tables back when ${victim} is killed in their exchange`, async () => {
        const held = holder();
        const { id } = await begun();
        await kill();
        held.kill('SIGKILL');
        const { status, error, log } = await endedRestore(gangway.client, id);
        assert.equal(status, 'failed', log.join('\n'));
        assert.match(`${String(error)}${log.join(' ')}`, /The previous data is (in place|back)\./);
        await mustBeAsBefore();
      });
    }

    it('succeeds after all that', async () => {
      const { id } = await beginRestore(gangway.client, run);
      const { status, error } = await endedRestore(gangway.client, id);
      assert.deepEqual([status, error], ['success', null]);
      assert.equal(await runMariadb(url, 'SELECT * FROM teas'), 'name\nbacked up\n');
    });
  });
});

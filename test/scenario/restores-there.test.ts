/** Backups and restores of what is on another server, and what is in place when something ends within a restore. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tarEnd, tarHeaders } from '../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../src/backups/tar/tar-tree.ts';
import {
  beginBackup,
  beginRestore,
  endedRestore,
  endedRun,
  makeDestination,
  seenRestore,
} from '../support/backups-over-graphql.ts';
import { cleanups } from '../support/cleanups.ts';
import { Databases } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { type OtherServer, otherServer } from '../support/other-server.ts';
import { freePort } from '../support/ports.ts';
import { needs } from '../support/programs.ts';

/** It does not serve what says that it hangs. */
const server = `const fs = require('node:fs');
const file = process.env.APP_DATA_DIR + '/note';
if (!fs.existsSync(file)) fs.writeFileSync(file, 'first');
const note = fs.readFileSync(file, 'utf8');
if (note === 'hang') setInterval(() => undefined, 1000);
else require('node:http').createServer((_, answer) => answer.end(fs.readFileSync(file))).listen(process.env.PORT)`;

const taking = 'It takes the place of the live one, for which that is stopped.';

describe('restores on another server', () => {
  const later = cleanups();
  let gangway: Gangway;
  let other: OtherServer;
  let destinationId: string;

  before(async () => {
    gangway = await Gangway.open({
      env: { GANGWAY_AGENT_PORT: String(await freePort()) },
      provoked: /restore_not_recovered|restore_failed|agent_|remote_/,
    });
    later(() => gangway.end());
    other = await otherServer(gangway);
    later(() => other.end());
    destinationId = await makeDestination(gangway.client, 'Disk');
  });

  const backedUp = async (of: { appId?: string; databaseId?: string }): Promise<string> => {
    const { id } = await beginBackup(gangway.client, { ...of, destinationId });
    const { status, error } = await endedRun(gangway.client, id);
    assert.deepEqual([status, error], ['success', null]);
    return id;
  };
  const restored = async (run: string): Promise<void> => {
    const { id } = await beginRestore(gangway.client, run);
    const { status, error, log } = await endedRestore(gangway.client, id);
    assert.deepEqual([status, error], ['success', null], log.join('\n'));
  };
  const leftOf = (id: string): string[] =>
    readdirSync(join(other.dataDir, 'apps', id)).filter((name) => name.startsWith('data-'));

  describe('of an app', () => {
    let appId: string;
    let slug: string;
    let note: string;
    before(async () => {
      const { client } = gangway;
      const app = await client.createApp('Notes', { serverId: other.serverId });
      ({ id: appId, slug } = app);
      note = join(other.dataDir, 'apps', appId, 'data', 'note');
      await client.mustUpload(
        appId,
        archiveOf({ 'app.js': server, Procfile: 'web: node app.js\n' }),
      );
      await client.deployed(appId);
    });
    const answers = (text: string): Promise<void> =>
      eventually(`it answers ${text}`, async () => (await other.there.visit(slug)).text === text);
    const stays = async (id: string): Promise<void> => {
      const { status, error, log } = await endedRestore(gangway.client, id);
      assert.equal(status, 'failed', log.join('\n'));
      const told = `${String(error)}${log.join(' ')}`;
      assert.match(told, /The previous data is (in place|back)\.|The data is as it was\./);
      assert.equal(readFileSync(note, 'utf8'), 'second');
      await answers('second');
      await eventually('nothing else is left', () => leftOf(appId).length === 0);
    };

    it('bring its files back, and start it again', async () => {
      await answers('first');
      const run = await backedUp({ appId });
      writeFileSync(note, 'second');
      writeFileSync(`${note}-more`, 'of the second');
      await restored(run);
      await answers('first');
      assert.deepEqual(readdirSync(join(note, '..')), ['note']);
      assert.deepEqual(leftOf(appId), []);
    });

    it('refuse an artifact with a link that leads out, before anything is touched', async () => {
      writeFileSync(note, 'second');
      const link = tarHeaders({
        ...{ name: Buffer.from('volumes/data/out'), type: 'link', size: 0, mode: 0o777 },
        ...{ mtimeMs: 0, target: Buffer.from('/etc') },
      });
      const tar = Buffer.concat([...textEntry('app.json', '{}'), link, tarEnd]);
      const path = `/api/backups/restore-upload?app=${appId}`;
      const { text } = await gangway.client.ask(path, {
        method: 'POST',
        body: new Uint8Array(gzipSync(tar)),
      });
      assert.match(text, /ARCHIVE_UNSAFE_ENTRY/);
      assert.equal(readFileSync(note, 'utf8'), 'second');
      assert.deepEqual(leftOf(appId), []);
    });

    describe('that is not well with what came', () => {
      let run: string;
      before(async () => {
        writeFileSync(note, 'hang');
        run = await backedUp({ appId });
        writeFileSync(note, 'second');
      });
      /** A restore whose files are live there, and not well. */
      const hanging = async (): Promise<string> => {
        const { id } = await beginRestore(gangway.client, run);
        await eventually('it takes its place', async () =>
          (await seenRestore(gangway.client, id)).log.includes(taking),
        );
        await eventually('the new files are live', () => {
          try {
            return readFileSync(note, 'utf8') === 'hang';
          } catch {
            return false; // Between the two names of an exchange there is none.
          }
        });
        return id;
      };

      it('put the previous files back when the agent is killed', async () => {
        const id = await hanging();
        await other.agent.end('SIGKILL');
        await other.connected(false);
        await other.agent.start();
        await other.connected(true);
        await stays(id);
      });

      it('put the previous files back when the service is killed', async () => {
        const id = await hanging();
        await gangway.kill9();
        await gangway.start();
        await other.connected(true);
        await stays(id);
      });
    });
  });

  const skipsDump = needs('psql') || !existsSync('/usr/lib/postgresql/15/bin/pg_dump');
  const engines = {
    'PostgreSQL without a pg_dump': { skip: false, engine: 'POSTGRES' },
    'PostgreSQL by its dump': {
      skip: skipsDump && 'needs PostgreSQL 15 with pg_dump',
      ...{ engine: 'POSTGRES', version: '15' },
    },
    MariaDB: { skip: needs('mariadbd', 'mariadb'), engine: 'MARIADB' },
  };
  for (const [name, { skip, ...kind }] of Object.entries(engines)) {
    it(`bring a ${name} back`, { skip }, async () => {
      const databases = new Databases(gangway);
      const { id } = await databases.running({ ...kind, serverId: other.serverId });
      const say = async (statement: string): Promise<string> => {
        const { output, exitCode } = await databases.exec(id, statement);
        assert.equal(exitCode, 0, output);
        return output;
      };
      await say("CREATE TABLE teas (name TEXT); INSERT INTO teas VALUES ('green')");
      const run = await backedUp({ databaseId: id });
      await say("DELETE FROM teas; INSERT INTO teas VALUES ('spoiled')");
      await restored(run);
      await databases.becomes(id, 'running');
      const teas = await say('SELECT name FROM teas');
      assert.match(teas, /green/);
      assert.doesNotMatch(teas, /spoiled/);
      assert.deepEqual(leftOf(id), []);
    });
  }

  it('bring a Redis back, with its password', { skip: needs('redis-server') }, async () => {
    const databases = new Databases(gangway);
    const { id } = await databases.running({ engine: 'REDIS', serverId: other.serverId });
    await databases.exec(id, 'SET tea green');
    const run = await backedUp({ databaseId: id });
    await databases.exec(id, 'SET tea spoiled');
    await restored(run);
    await databases.becomes(id, 'running');
    assert.equal((await databases.exec(id, 'GET tea')).output, '"green"\n');
    assert.deepEqual(leftOf(id), []);
  });
});

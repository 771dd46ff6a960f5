import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Capability } from '../../src/lib/capabilities.ts';
import { join, makeRole } from '../support/access-world.ts';
import { ConsoleClient } from '../support/console-client.ts';
import { Databases } from '../support/databases.ts';
import { Gangway } from '../support/gangway.ts';

describe('the console of a database', () => {
  let gangway: Gangway;
  let databases: Databases;
  let id: string;
  let path: string;
  before(async () => {
    gangway = await Gangway.open();
    databases = new Databases(gangway);
    id = (await databases.create({ name: 'Talked to' })).id;
    path = `/api/databases/${id}/attach`;
    await databases.becomes(id, 'running');
  });
  after(() => gangway.end());

  it('talks to its client, over a dropped connection', async () => {
    const client = await ConsoleClient.open(gangway.client, path);
    await client.type('SELECT 40 + 2 AS sum;\r');
    await client.sees(/sum[^]*42[^]*\(1 row\)/);
    client.drop();
    const back = await client.back();
    await back.sees('(1 row)');
    await back.type('SELECT nothing FROM nowhere;\r');
    await back.sees(/relation "nowhere" does not exist/);
    await back.type('\\q\r');
    await back.ends('exit');
  });

  it('is for who holds its own capability', async () => {
    const { viewerTeam } = await gangway.client.must<{ viewerTeam: { id: string } }>(
      '{ viewerTeam { id } }',
    );
    const open = async (name: string, capability: Capability): Promise<ConsoleClient> => {
      const role = await makeRole(gangway.client, viewerTeam.id, name, [capability]);
      const person = await join(gangway, viewerTeam.id, role, name);
      return await ConsoleClient.ask(person, path);
    };
    const refused = await open('appist', 'open_app_console');
    assert.equal(`${String(refused.stream.status)} ${refused.code}`, '403 FORBIDDEN');
    assert.match(refused.stream.text, /open_database_console/);
    const fine = await open('basist', 'open_database_console');
    assert.equal(fine.stream.status, 200);
    fine.drop();
  });

  it('has one container, and is none of an app', async () => {
    const none = await ConsoleClient.ask(gangway.client, path, '?container=app');
    assert.equal(none.code, 'NO_SUCH_CONTAINER');
    const named = await ConsoleClient.open(gangway.client, path, '?container=database');
    const strayed = await ConsoleClient.ask(gangway.client, `/api/apps/${id}/attach`);
    assert.equal(strayed.code, 'NOT_FOUND');
    await named.delete();
    await named.ends('exit');
  });

  it('ends with the database, and is not opened while that is stopped', async () => {
    const client = await ConsoleClient.open(gangway.client, path);
    await gangway.client.must(
      'mutation($id: ID!) { setDatabaseRunning(id: $id, running: false) { id } }',
      { id },
    );
    await client.ends('exit');
    const stopped = await ConsoleClient.ask(gangway.client, path);
    assert.equal(`${String(stopped.stream.status)} ${stopped.code}`, '409 NOT_RUNNING');
  });
});

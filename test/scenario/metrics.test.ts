import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { archiveOf } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';

interface Sample {
  at: string;
  cpu: number;
  memoryBytes: number;
  networkInBytes: number | null;
  networkOutBytes: number | null;
}

const query = `query($id: ID!, $minutes: Int) {
  metrics(appId: $id, minutes: $minutes) { at cpu memoryBytes networkInBytes networkOutBytes }
}`;

describe('metrics of an app', () => {
  let gangway: Gangway;
  let client: Client;
  let id: string;
  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
    const busy = `require('node:http').createServer((_, answer) => answer.end('here')).listen(process.env.PORT);
      setInterval(() => { for (const end = Date.now() + 20; Date.now() < end; ); }, 100);`;
    const app = await client.createApp('Busy', { resources: { memoryMb: 512, pids: 100 } });
    id = app.id;
    await client.mustUpload(id, archiveOf({ Procfile: 'web: node busy.js', 'busy.js': busy }));
    await client.deployed(id);
  });
  after(() => gangway.end());

  async function samples(minutes = 60): Promise<Sample[]> {
    const { metrics } = await client.must<{ metrics: Sample[] }>(query, { id, minutes });
    return metrics;
  }

  it('come in while it runs, and are there after a restart of Gangway', async () => {
    await until('two samples', 60_000, async () => (await samples()).length >= 2);
    const before = await samples();
    for (const { at, cpu, memoryBytes, networkInBytes } of before) {
      assert.ok(Math.abs(Date.now() - Date.parse(at)) < 120_000);
      assert.ok(cpu > 0 && cpu < 64);
      assert.ok(memoryBytes > 1_000_000);
      assert.equal(networkInBytes, null);
    }
    await gangway.restart();
    const after = await samples();
    assert.deepEqual(after.slice(0, before.length), before);
    assert.ok((await samples(1440)).length > 0);
  });

  it('are refused for times that make no sense, and for two things at once', async () => {
    for (const minutes of [0, -1, 1441]) {
      assert.equal(await client.fails(query, { id, minutes }), 'BAD_USER_INPUT');
    }
    const both = 'query($id: ID!) { metrics(appId: $id, databaseId: "db_x") { cpu } }';
    assert.equal(await client.fails(both, { id }), 'BAD_USER_INPUT');
    assert.equal(await client.fails('{ metrics { cpu } }'), 'BAD_USER_INPUT');
    for (const named of ['appId: "app_none"', 'databaseId: "db_none"']) {
      assert.equal(await client.fails(`{ metrics(${named}) { cpu } }`), 'NOT_FOUND');
    }
  });
});

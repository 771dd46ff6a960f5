import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { archiveOf } from '../support/gangway-client.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { secondMs, TimeMachine } from '../support/time-machine.ts';

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
  const later = cleanups();
  let gangway: Gangway;
  let time: TimeMachine;
  let client: Client;
  let app: AppInfo;
  let id: string;
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gangway-metrics-'));
    later(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    time = new TimeMachine(join(folder, 'time'));
    gangway = await Gangway.open(time.options());
    later(() => gangway.end());
    client = gangway.client;
    // It answers with the CPU time that it took so far, in microseconds.
    const busy = `require('node:http').createServer((_, answer) => {
        answer.end(String(process.cpuUsage().user));
      }).listen(process.env.PORT);
      setInterval(() => { for (const end = Date.now() + 20; Date.now() < end; ); }, 100);`;
    app = await client.createApp('Busy', { resources: { memoryMb: 512, pids: 100 } });
    ({ id } = app);
    await client.mustUpload(id, archiveOf({ Procfile: 'web: node busy.js', 'busy.js': busy }));
    await client.deployed(id);
  });

  async function samples(minutes = 60): Promise<Sample[]> {
    const { metrics } = await client.must<{ metrics: Sample[] }>(query, { id, minutes });
    return metrics;
  }

  it('come in while it runs, and are there after a restart of Gangway', async () => {
    const usedUs = async (): Promise<number> => Number((await client.visit(app.slug)).text);
    for (let count = 1; count <= 2; count++) {
      const before = await usedUs();
      await until('it was busy', 20_000, async () => (await usedUs()) > before + 100_000);
      await time.jump(10 * secondMs);
      await until('a sample', 60_000, async () => (await samples()).length >= count);
    }
    const before = await samples();
    for (const { at, cpu, memoryBytes, networkInBytes } of before) {
      assert.ok(Math.abs(time.now() - Date.parse(at)) < 120_000);
      assert.ok(cpu > 0 && cpu < 64);
      assert.ok(memoryBytes > 1_000_000);
      // Where it has no network of its own nobody counts.
      assert.ok(networkInBytes === null || networkInBytes > 0);
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

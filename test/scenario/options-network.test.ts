/** Options about addresses, the start and what is written, of a service that is told them by a file, too. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';

const host = '127.0.0.8';
const patienceMs = 20_000;

describe('options of a service about its place', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-network-'));
  let gangway: Gangway;
  let client: Client;
  before(async () => {
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify({ maxSockets: 30, maxHeaderKb: 2, metrics: 'all' }));
    gangway = await Gangway.create({
      env: {
        GANGWAY_CONFIG: file,
        GANGWAY_HOST: host,
        GANGWAY_PUBLIC_URL: 'https://panel.example.test',
        GANGWAY_APPS_DOMAIN: 'apps.example.test',
        GANGWAY_LOG_LEVEL: 'warn',
        GANGWAY_INSTANCE_KEY: '5'.repeat(64),
      },
    });
    await gangway.start();
    const { port, edgePort } = gangway;
    client = new Client({ url: `http://${host}:${String(port)}`, edgePort });
    await client.setUp();
  });
  after(async () => {
    try {
      await gangway.end();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('host and port say where it listens', async () => {
    assert.equal((await client.ask('/api/health')).status, 200);
    await assert.rejects(gangway.stranger().ask('/api/health'));
  });

  it('publicUrl and appsDomain are in what people are shown', async () => {
    const { instanceSettings } = await client.must<{ instanceSettings: { publicUrl: string } }>(
      '{ instanceSettings { publicUrl } }',
    );
    assert.equal(instanceSettings.publicUrl, 'https://panel.example.test');
    assert.match(gangway.output, /^Gangway serves on https:\/\/panel\.example\.test;/m);
    const { slug, url } = await client.createApp('Named');
    assert.equal(url, `http://${slug}.apps.example.test:${String(gangway.edgePort)}`);
  });

  it('dataDir holds all of it, without a key where instanceKey is given', () => {
    assert.ok(existsSync(join(gangway.dataDir, 'store', 'data.mdb')));
    assert.ok(!existsSync(join(gangway.dataDir, 'instance.key')));
  });

  it('maxHeaderKb bounds the head of a request', async () => {
    const ask = async (length: number): Promise<number> =>
      (await client.ask('/login', { headers: { 'x-long': 'x'.repeat(length) } })).status;
    assert.deepEqual([await ask(1_000), await ask(3_000)], [200, 431]);
  });

  it('maxSockets bounds the connections', async (t) => {
    let closed = 0;
    for (let i = 0; i < 50; i++) {
      const socket = connect(gangway.port, host);
      t.after(() => socket.destroy());
      socket.on('error', () => undefined).on('data', () => undefined);
      socket.once('close', () => (closed += 1));
    }
    await until('what is too many is closed', patienceMs, () => closed >= 20);
    assert.ok(closed < 50, String(closed));
  });

  it('logLevel says what is written', async () => {
    await gangway.stop();
    assert.doesNotMatch(gangway.output, /"level":[123]0,/);
  });
});

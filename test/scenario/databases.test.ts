/** Databases over GraphQL, with real servers and real clients. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import { Gangway } from '../support/gangway.ts';

interface Database {
  id: string;
  status: string;
  error: string | null;
  version: string;
  connectionStringMasked: string;
}

const fields = 'id name engine status error version connectionStringMasked';
const readyMs = 60_000;

describe('a PostgreSQL database', () => {
  let gangway: Gangway;
  let id: string;
  before(async () => {
    gangway = await Gangway.open();
  });
  after(() => gangway.end());

  const create = async (input: object): Promise<Database> =>
    (
      await gangway.client.must<{ createDatabase: Database }>(
        `mutation($input: CreateDatabaseInput!) { createDatabase(input: $input) { ${fields} } }`,
        { input },
      )
    ).createDatabase;
  const seen = async (one = id): Promise<Database | null> =>
    (
      await gangway.client.must<{ database: Database | null }>(
        `query($id: ID!) { database(id: $id) { ${fields} } }`,
        { id: one },
      )
    ).database;
  const becomes = (status: string, one = id): Promise<void> =>
    until(status, async () => {
      const database = await seen(one);
      if (status !== 'error') assert.notEqual(database?.status, 'error', database?.error ?? '');
      return database?.status === status;
    });
  const reveal = async (one = id): Promise<string> =>
    (
      await gangway.client.must<{ revealConnection: string }>(
        'mutation($id: ID!) { revealConnection(id: $id) }',
        { id: one },
      )
    ).revealConnection;
  const run = async (running: boolean): Promise<Database> =>
    (
      await gangway.client.must<{ setDatabaseRunning: Database }>(
        `mutation($id: ID!, $running: Boolean!) { setDatabaseRunning(id: $id, running: $running) { ${fields} } }`,
        { id, running },
      )
    ).setDatabaseRunning;

  it('is one mutation away, and its owner signs in with what is revealed', async () => {
    const made = await create({ name: 'Orders', engine: 'POSTGRES' });
    id = made.id;
    assert.match(id, /^db_/);
    assert.equal(made.status, 'provisioning');
    assert.match(made.version, /^18\.\d+$/);
    await becomes('running');
    const shown = await seen();
    assert.match(
      shown?.connectionStringMasked ?? '',
      /^postgres:\/\/app:•+@127\.0\.0\.1:\d+\/app$/,
    );
    await query(await reveal(), async (client) => {
      await client.query('CREATE TABLE orders (id serial PRIMARY KEY, what text)');
      await client.query("INSERT INTO orders (what) VALUES ('tea')");
      const { rows } = await client.query(
        'SELECT current_user AS me, usesuper FROM pg_user WHERE usename = current_user',
      );
      assert.deepEqual(rows, [{ me: 'app', usesuper: false }]);
    });
  });

  it('stops and starts with its data, at the same address', async () => {
    const address = await reveal();
    assert.equal((await run(false)).status, 'stopped');
    await until('it is stopped', () => refuses(address));
    await run(true);
    await becomes('running');
    assert.equal(await reveal(), address);
    await query(address, async (client) => {
      const { rows } = await client.query('SELECT what FROM orders');
      assert.deepEqual(rows, [{ what: 'tea' }]);
    });
  });
});

async function query(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

async function refuses(url: string): Promise<boolean> {
  return query(url, () => Promise.resolve()).then(
    () => false,
    () => true,
  );
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + readyMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`Waited in vain: ${what}`);
    await pause(50);
  }
}

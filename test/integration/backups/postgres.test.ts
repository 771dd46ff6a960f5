/** PostgreSQL through a backup and back, by the servers that this machine has. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import pg from 'pg';

import { postgresDumpRestorer } from '../../../src/backups/restores/postgres-restorer.ts';
import { databaseSource } from '../../../src/backups/sources/database-sources.ts';
import { collected, databaseServer, pieces } from '../../support/database-server.ts';
import type { DatabaseServer } from '../../support/database-server.ts';
import { needs } from '../../support/programs.ts';

const never = new AbortController().signal;

/** Rows of statements as the user, or as another one. */
async function query(
  { target }: DatabaseServer,
  text: string,
  more: pg.ClientConfig = {},
): Promise<unknown[]> {
  const client = new pg.Client({
    host: target.socket ?? '',
    port: target.port,
    user: target.username,
    password: target.password,
    database: target.databaseName,
    ...more,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const debian15 = '/usr/lib/postgresql/15/bin';
const noDump = needs('psql') || !existsSync(`${debian15}/postgres`);

describe(
  'PostgreSQL with its pg_dump',
  { skip: noDump && 'needs PostgreSQL 15 with pg_dump' },
  () => {
    let server: DatabaseServer;
    before(async () => {
      server = await databaseServer('POSTGRES', '15');
      await query(
        server,
        `CREATE TABLE teas (id serial PRIMARY KEY, name text UNIQUE, leaves bytea);
       INSERT INTO teas (name, leaves) SELECT 'tea ' || i, decode(md5(i::text), 'hex') FROM generate_series(1, 5000) i;
       CREATE VIEW few AS SELECT * FROM teas WHERE id < 4;
       CREATE FUNCTION shout(text) RETURNS text LANGUAGE sql AS 'SELECT upper($1)';`,
      );
    });
    after(() => server.close());

    const dumped = async (): Promise<Buffer> =>
      collected((await databaseSource(server.target)).read(never));
    const sum = (): Promise<unknown[]> =>
    query(server, `SELECT count(*)::int AS n, md5(string_agg(name || leaves::text, ',' ORDER BY id)) AS h FROM teas`); // prettier-ignore
    const restore = (bytes: Buffer, lines: string[] = []): Promise<void> =>
      postgresDumpRestorer(server.target).restore(pieces(bytes), (line) => lines.push(line), never);

    it('comes back whole, also while somebody is connected', async () => {
      const source = await databaseSource(server.target);
      assert.deepEqual([source.kind, source.ending], ['postgresql', 'dump']);
      const first = await sum();
      const bytes = await dumped();
      assert.equal(bytes.subarray(0, 5).toString(), 'PGDMP');
      await query(server, 'DROP TABLE teas CASCADE; CREATE TABLE other (i int)');
      const { target } = server;
      const { port, username: user, password, socket } = target;
      const idle = new pg.Client({ host: socket ?? '', port, user, password, database: 'shop' });
      idle.on('error', () => undefined);
      await idle.connect();
      await restore(bytes);
      await idle.end().catch(() => undefined);
      assert.deepEqual(await sum(), first);
      assert.deepEqual(await query(server, "SELECT shout('x') AS s"), [{ s: 'X' }]);
      assert.deepEqual(await query(server, "SELECT to_regclass('other') AS t"), [{ t: null }]);
      const names = await query(server, 'SELECT datname AS n FROM pg_database ORDER BY 1');
      assert.deepEqual(names.map((row) => (row as { n: string }).n), ['postgres', 'shop', 'template0', 'template1']); // prettier-ignore
    });

    it('stays as it is when the dump is cut off, damaged, or of something else', async () => {
      const first = await sum();
      const bytes = await dumped();
      const broken = Buffer.from(bytes);
      broken.fill(0x41, bytes.length - 60_000, bytes.length - 30_000);
      for (const bad of [
        bytes.subarray(0, bytes.length - 50_000),
        broken,
        Buffer.from('SELECT 1;'),
        Buffer.alloc(0),
      ]) {
        // prettier-ignore
        await assert.rejects(restore(bad), /The data is as it was\.$/);
        assert.deepEqual(await sum(), first);
      }
    });

    it('tells no password when a client fails', async () => {
      const target = { ...server.target, databaseName: "no pa'ss here" };
      const source = await databaseSource(target);
      await assert.rejects(collected(source.read(never)), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'DUMP_FAILED');
        assert.doesNotMatch(error.message, /pa'ss|admin-secret/);
        return true;
      });
    });

    it('is given up midway without a trace', async () => {
      const bytes = await dumped();
      const first = await sum();
      const over = new AbortController();
      async function* slowly(): AsyncGenerator<Uint8Array> {
        yield bytes.subarray(0, 20_000);
        over.abort(new Error('enough'));
        yield bytes.subarray(20_000);
        await Promise.resolve();
      }
      const { target } = server;
      const restored = postgresDumpRestorer(target).restore(slowly(), () => undefined, over.signal);
      await assert.rejects(restored, /The data is as it was/);
      assert.deepEqual(await sum(), first);
    });
  },
);

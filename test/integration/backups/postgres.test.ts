/** PostgreSQL through a backup and back, by the servers that this machine has. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import pg from 'pg';

import { postgresFilesRestorer } from '../../../src/backups/restores/postgres-files-restorer.ts';
import {
  postgresDumpRestorer,
  recoverPostgres,
} from '../../../src/backups/restores/postgres-restorer.ts';
import { databaseSource } from '../../../src/backups/sources/database-sources.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { scramVerifier } from '../../../src/lib/scram.ts';
import { tarEnd, tarHeaders } from '../../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../../src/backups/tar/tar-tree.ts';
import { collected, databaseServer, pieces } from '../../support/database-server.ts';
import type { DatabaseServer } from '../../support/database-server.ts';
import { eventually } from '../../support/eventually.ts';
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
    return (await client.query<Record<string, unknown>>(text)).rows;
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

    it('runs nothing of a dump but SQL, as its user, in the database beside the live one', async () => {
      const admin = { user: 'postgres', password: server.target.adminPassword };
      // What somebody else's dump holds: all of it belongs to an administrator there.
      const words = 'x'.repeat(200);
      const comment = `COMMENT ON TABLE public.crown IS '${words}';`;
      await query(
        server,
        `CREATE TABLE crown (jewel text); INSERT INTO crown VALUES ('ruby'); ${comment}
         CREATE FUNCTION whoami() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text';`,
        admin,
      );
      const theirs = { ...server.target, username: 'postgres', password: admin.password };
      const bytes = await collected((await databaseSource(theirs)).read(never));
      await query(server, 'DROP TABLE crown; DROP FUNCTION whoami', admin);
      const first = await sum();
      const sign = `${server.place.temp}/sign`;
      for (const text of [
        `COPY (SELECT 1) TO PROGRAM 'touch ${sign}';`,
        `COPY (SELECT 1) TO '${sign}';`,
        `COPY crown FROM '/etc/passwd';`,
        `CREATE FUNCTION run(cstring) RETURNS int LANGUAGE c AS 'libc', 'system';`,
        `ALTER SYSTEM SET archive_command = 'touch ${sign}';`,
        `ALTER ROLE ann SUPERUSER;`,
        `SET SESSION AUTHORIZATION postgres;`,
        `\\! touch ${sign}`,
        `DROP DATABASE shop;`,
        `DROP DATABASE shop WITH (FORCE);`,
        `ALTER ROLE ann PASSWORD 'of another'; SELECT 1/0;`,
      ]) {
        assert.ok(text.length <= comment.length);
        const hostile = Buffer.from(bytes);
        hostile.write(text.padEnd(comment.length), bytes.indexOf(comment));
        await assert.rejects(restore(hostile), (error: Error) => {
          // It names the statement that failed.
          assert.ok(error.message.includes(text.slice(0, 12)), error.message);
          assert.match(error.message, /The data is as it was\.$/);
          return true;
        });
        assert.equal(existsSync(sign), false, text);
        assert.deepEqual(await sum(), first, text);
        assert.deepEqual(await databases(), ['postgres', 'shop', 'template0', 'template1']);
      }
      const roles = await query(server, 'SELECT rolsuper AS s FROM pg_roles WHERE rolname = current_user'); // prettier-ignore
      assert.deepEqual(roles, [{ s: false }]);
      const before = await dumped();
      const hostile = Buffer.from(bytes);
      hostile.write(`ALTER ROLE ann PASSWORD 'x';`.padEnd(comment.length), bytes.indexOf(comment));
      await restore(hostile);
      // It came back as the user's own, and with the password in force.
      const owner = "SELECT tableowner AS o FROM pg_tables WHERE tablename = 'crown'";
      assert.deepEqual(await query(server, owner), [{ o: 'ann' }]);
      assert.deepEqual(await query(server, 'SELECT whoami() AS u'), [{ u: 'ann' }]);
      await restore(before);
      assert.deepEqual(await sum(), first);
    });

    const databases = async (): Promise<string[]> => {
      const rows = await query(server, 'SELECT datname AS n FROM pg_database ORDER BY 1');
      return rows.map((row) => (row as { n: string }).n);
    };

    it('is known behind a crash as what it is, and leaves nothing beside it', async () => {
      const bytes = await dumped();
      const first = await sum();
      await query(server, 'DELETE FROM teas WHERE id > 100');
      const { target } = server;
      const cut = (): Promise<void> => Promise.reject(new Error('cut off'));
      const cutOff = { ...target, control: { ...target.control, replaced: cut } };
      const restoring = postgresDumpRestorer(cutOff).restore(pieces(bytes), () => undefined, never);
      await assert.rejects(restoring, /cut off/);
      // As long as that is not told on, it tells the same.
      await assert.rejects(recoverPostgres(cutOff), /cut off/);
      assert.equal(await recoverPostgres(target), 'restored');
      assert.deepEqual(await sum(), first);
      assert.deepEqual(await databases(), ['postgres', 'shop', 'template0', 'template1']);
    });

    it('waits behind a crash for an exchange that the server still works at', async () => {
      const first = await sum();
      const { target } = server;
      const { port, socket, adminPassword: password } = target;
      const left = new pg.Client({ host: socket ?? '', port, user: 'postgres', password });
      left.on('error', () => undefined);
      await left.connect();
      await left.query('CREATE DATABASE "gangway-incoming"');
      await left.query('BEGIN; ALTER DATABASE shop RENAME TO "gangway-outgoing"');
      await left.query('ALTER DATABASE "gangway-incoming" RENAME TO shop');
      const recovering = recoverPostgres(target);
      await eventually('it waits', async () => {
        const { rows } = await left.query('SELECT FROM pg_locks WHERE NOT granted');
        return rows.length === 1;
      });
      await left.query('ROLLBACK');
      await left.end();
      assert.equal(await recovering, 'previous');
      assert.deepEqual(await sum(), first);
      assert.deepEqual(await databases(), ['postgres', 'shop', 'template0', 'template1']);
    });

    it('is given up while a statement of the dump hangs, with the password in force', async () => {
      const admin = { user: 'postgres', password: server.target.adminPassword };
      await query(
        server,
        `CREATE FUNCTION slow(int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
           IF current_database() = 'shop' THEN RETURN true; END IF;
           ALTER ROLE ann PASSWORD 'of another'; PERFORM pg_sleep(100000); RETURN true;
         END $$;
         CREATE TABLE hanging (i int CHECK (slow(i))); INSERT INTO hanging VALUES (1);`,
      );
      const bytes = await dumped();
      await query(server, 'DROP TABLE hanging; DROP FUNCTION slow');
      const first = await sum();
      const late = new AbortController();
      const restorer = postgresDumpRestorer(server.target);
      const restoring = restorer.restore(pieces(bytes), () => undefined, late.signal);
      restoring.catch(() => undefined);
      const asleep = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
      await eventually('it hangs', async () => (await query(server, asleep, admin)).length === 1);
      late.abort(new ServiceError('DEADLINE_EXCEEDED', 'It took too long.'));
      await assert.rejects(restoring, {
        code: 'DEADLINE_EXCEEDED',
        message: 'It took too long. The data is as it was.',
      });
      assert.deepEqual(await sum(), first);
      assert.deepEqual(await databases(), ['postgres', 'shop', 'template0', 'template1']);
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

describe('PostgreSQL without a pg_dump', () => {
  let server: DatabaseServer;
  before(async () => {
    const tools = { find: () => Promise.resolve(null), ask: () => Promise.resolve(null) };
    server = await databaseServer('POSTGRES', null, tools);
    await query(
      server,
      `CREATE TABLE teas (id serial PRIMARY KEY, name text);
       INSERT INTO teas (name) SELECT 'tea ' || i FROM generate_series(1, 20000) i;`,
    );
  });
  after(() => server.close());

  const count = async (): Promise<unknown> =>
    (await query(server, 'SELECT count(*)::int AS n, max(name) AS m FROM teas'))[0];
  const restore = (bytes: Buffer): Promise<void> =>
    postgresFilesRestorer(server.target).restore(pieces(bytes, 65_536), () => undefined, never);

  it('comes back from its files, which were written to meanwhile', async () => {
    const source = await databaseSource(server.target);
    assert.deepEqual([source.kind, source.ending], ['postgresql', 'base.tar']);
    const chunks: Uint8Array[] = [];
    let writes = 0;
    for await (const chunk of source.read(never)) {
      chunks.push(chunk);
      if (chunks.length % 20 !== 0) continue;
      writes++;
      await query(server, `INSERT INTO teas (name) SELECT 'late' FROM generate_series(1, 500)`);
    }
    assert.ok(writes > 0);
    await query(server, 'DROP TABLE teas');
    await restore(Buffer.concat(chunks));
    const { n } = (await count()) as { n: number };
    // It is of the moment at which all files were read: whole statements, and not those behind it.
    assert.ok(n > 20_000 && n <= 20_000 + writes * 500, String(n));
    assert.equal((n - 20_000) % 500, 0);
    await query(server, "INSERT INTO teas (name) VALUES ('more')");
    const left = await query(server, "SELECT count(*)::int AS n FROM pg_ls_dir('pg_replslot') x", {
      user: 'postgres',
      password: server.target.adminPassword,
    });
    assert.deepEqual(left, [{ n: 0 }]);
  });

  it('takes no dump where there is no pg_restore, and says so before anything is made', async () => {
    const first = await count();
    const restoring = postgresDumpRestorer(server.target).restore(
      pieces(Buffer.from('PGDMP')),
      () => undefined,
      never,
    );
    await assert.rejects(restoring, {
      code: 'ENGINE_NOT_AVAILABLE',
      message: /no pg_restore.*The data is as it was\.$/,
    });
    assert.deepEqual(await count(), first);
  });

  it('stays as it is when the files are of something else, or not all', async () => {
    const first = await count();
    const bytes = await collected((await databaseSource(server.target)).read(never));
    const link = tarHeaders({ name: Buffer.from('pg_tblspc/1'), type: 'link', size: 0, mode: 0o777, mtimeMs: 0, target: Buffer.from('x') }); // prettier-ignore
    for (const bad of [
      bytes.subarray(0, bytes.length - 100_000),
      Buffer.concat([...textEntry('PG_VERSION', '18\n'), tarEnd]),
      Buffer.concat([link, bytes]),
      Buffer.concat([...textEntry('PG_VERSION', '9\n'), ...textEntry('global/pg_control', 'x'), ...textEntry('backup_label', 'x'), tarEnd]), // prettier-ignore
      Buffer.from('PGDMP'),
    ]) {
      await assert.rejects(restore(bad), /The data is as it was\.$/);
      assert.deepEqual(await count(), first);
    }
  });

  it('is not stopped for files that no server starts from', async () => {
    const first = await count();
    const major = server.target.version.split('.')[0] ?? '';
    const bad = [...textEntry('PG_VERSION', `${major}\n`), ...textEntry('global/pg_control', 'x'), ...textEntry('backup_label', 'x'), tarEnd]; // prettier-ignore
    await assert.rejects(
      restore(Buffer.concat(bad)),
      /does not start from these files.*The data is as it was\.$/,
    );
    assert.deepEqual(await count(), first);
  });

  it('puts the previous files back when the server is not well with the new ones', async () => {
    const first = await count();
    const bytes = await collected((await databaseSource(server.target)).read(never));
    await query(server, "INSERT INTO teas (name) VALUES ('newer')");
    const newer = await count();
    assert.notDeepEqual(newer, first);
    const { control } = server.target;
    let starts = 0;
    const start = async (): Promise<void> => {
      if (++starts === 1) throw new Error('it is not well');
      await control.start();
    };
    const target = { ...server.target, control: { ...control, start } };
    const restoring = postgresFilesRestorer(target).restore(pieces(bytes), () => undefined, never);
    await assert.rejects(restoring, /The previous data is back\.$/);
    assert.deepEqual(await count(), newer);
  });

  it('comes back with the password of its administrator, which was another one then', async () => {
    const first = await count();
    const admin = { user: 'postgres', password: server.target.adminPassword };
    await query(server, "ALTER ROLE postgres PASSWORD 'of another day'", admin);
    const then = { ...server.target, adminPassword: 'of another day' };
    const bytes = await collected((await databaseSource(then)).read(never));
    const verifier = scramVerifier(admin.password);
    await query(server, `ALTER ROLE postgres PASSWORD '${verifier}'`, {
      ...admin,
      password: 'of another day',
    });
    await restore(bytes);
    assert.deepEqual(await count(), first);
    assert.deepEqual(await query(server, 'SELECT 1 AS one', admin), [{ one: 1 }]);
  });
});

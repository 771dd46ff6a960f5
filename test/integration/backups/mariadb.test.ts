/** MariaDB through a backup and back, by the server that this machine has. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { feed } from '../../../src/backups/client-program.ts';
import { mariadbClient } from '../../../src/backups/mariadb-client.ts';
import { MariadbExchange } from '../../../src/backups/restores/mariadb-exchange.ts';
import { mariadbRestorer, recoverMariadb } from '../../../src/backups/restores/mariadb-restorer.ts';
import { MariadbServer } from '../../../src/backups/restores/mariadb-server.ts';
import { databaseSource } from '../../../src/backups/sources/database-sources.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { collected, databaseServer, pieces } from '../../support/database-server.ts';
import type { DatabaseServer } from '../../support/database-server.ts';
import { eventually } from '../../support/eventually.ts';
import { needs } from '../../support/programs.ts';

const never = new AbortController().signal;

describe('MariaDB', { skip: needs('mariadbd', 'mariadb') }, () => {
  let server: DatabaseServer;
  const sql = async (text: string, database = 'shop'): Promise<string> => {
    const as = { program: '/usr/bin/mariadb', user: 'own', database } as const;
    const spec = mariadbClient(server.target, as, ['--batch', '--skip-column-names']);
    return (await feed(server.target, spec, pieces(Buffer.from(text)), never)).toString();
  };
  const dumped = async (): Promise<Buffer> =>
    collected((await databaseSource(server.target)).read(never));
  const restore = (bytes: Buffer, lines: string[] = []): Promise<void> =>
    mariadbRestorer(server.target).restore(pieces(bytes), (line) => lines.push(line), never);
  const state = (): Promise<string> =>
    sql(`SELECT COUNT(*), MD5(GROUP_CONCAT(name, HEX(leaves) ORDER BY id)) FROM teas;
      SELECT COUNT(*) FROM cups; SELECT * FROM few; CALL shout('x'); SELECT COUNT(*) FROM log;`);

  before(async () => {
    server = await databaseServer('MARIADB');
    await sql(`SET SESSION group_concat_max_len = 10000000;
      CREATE TABLE teas (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), leaves BLOB);
      CREATE TABLE cups (id INT PRIMARY KEY, tea INT, FOREIGN KEY (tea) REFERENCES teas (id));
      CREATE TABLE log (what TEXT);
      INSERT INTO teas (name, leaves) SELECT CONCAT('tea ü ', seq), UNHEX(SHA1(seq)) FROM seq_1_to_2000;
      INSERT INTO cups VALUES (1, 7);
      CREATE VIEW few AS SELECT id, name FROM teas WHERE id < 3;
      CREATE TRIGGER told AFTER INSERT ON cups FOR EACH ROW INSERT INTO log VALUES ('cup');
      DELIMITER //
      CREATE PROCEDURE shout(IN what TEXT) BEGIN SELECT UPPER(what); END //
      DELIMITER ;`);
  });
  after(() => server.close());

  it('comes back whole, with views, routines and triggers', async () => {
    const source = await databaseSource(server.target);
    assert.deepEqual([source.kind, source.ending], ['mariadb', 'sql']);
    const first = await state();
    const bytes = await dumped();
    await sql(
      'DROP TABLE cups; DROP TABLE teas; DROP PROCEDURE shout; CREATE TABLE other (i INT);',
    );
    await restore(bytes);
    assert.equal(await state(), first);
    await sql('INSERT INTO cups VALUES (2, 8)');
    assert.equal(await sql('SELECT what FROM log'), 'cup\n');
    assert.equal(await sql("SHOW TABLES LIKE 'other'"), '');
    assert.equal(await sql('SHOW DATABASES'), 'information_schema\nshop\n');
    // What was restored can be dumped and restored again.
    await restore(await dumped());
    assert.equal(await sql('SELECT what FROM log'), 'cup\n');
  });

  it('runs nothing of a dump but SQL, as its user, in the database beside the live one', async () => {
    const first = await state();
    const sign = `${server.place.temp}/sign`;
    const hostile = [
      `\\! touch ${sign}\nSELECT 1;\n`,
      `system touch ${sign}\nSELECT 1;\n`,
      `source ${sign}\nSELECT 1;\n`,
      `CREATE TABLE a (i INT);\n\\! touch ${sign}\n`,
      `USE shop;\nDROP TABLE teas;\n`,
      `CREATE DATABASE IF NOT EXISTS shop;\nUSE \`shop\`;\nDROP TABLE teas;\n`,
      `CREATE TABLE a (i INT);\nSELECT 1 INTO OUTFILE '${sign}';\n`,
      `CREATE TABLE a (i INT);\nLOAD DATA INFILE '/etc/passwd' INTO TABLE a;\n`,
      `CREATE TABLE a (t TEXT);\nLOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE a;\n`,
      `CREATE TABLE a (i INT);\nCREATE USER evil;\n`,
      `CREATE TABLE a (i INT);\nSET PASSWORD = PASSWORD('of another');\nCREATE USER evil;\n`,
      `CREATE TABLE a (i INT);\nCREATE DEFINER=root@localhost PROCEDURE p() SELECT 1;\n`,
    ];
    for (const text of hostile) {
      await assert.rejects(restore(Buffer.from(text)), /The data is as it was\.$/, text);
      assert.equal(existsSync(sign), false, text);
      assert.equal(await state(), first, text);
    }
  });

  it('is neither dumped nor restored where its clients are missing', async () => {
    const tools = { find: () => Promise.resolve(null), ask: () => Promise.resolve(null) };
    const target = { ...server.target, tools };
    const missing = { code: 'ENGINE_NOT_AVAILABLE' };
    await assert.rejects(
      async () => collected((await databaseSource(target)).read(never)),
      missing,
    );
    const bytes = await dumped();
    const restoring = mariadbRestorer(target).restore(pieces(bytes), () => undefined, never);
    await assert.rejects(restoring, { ...missing, message: /The data is as it was\.$/ });
  });

  it('stays as it is when the dump breaks, or is of something else', async () => {
    const first = await state();
    const bytes = await dumped();
    const cut = bytes.subarray(0, bytes.indexOf('INSERT INTO `teas`') + 5000);
    for (const bad of [
      cut,
      Buffer.alloc(9000),
      Buffer.alloc(0),
      Buffer.from('PGDMP\u0000\u0001'),
    ]) {
      await assert.rejects(restore(bad), /The data is as it was\.$/);
      assert.equal(await state(), first);
    }
  });

  it('is given up while a statement of the dump hangs', async () => {
    const first = await state();
    const late = new AbortController();
    const whole = await dumped();
    // The server does not look whether its client is there.
    const hangs = "CREATE TABLE a AS SELECT BENCHMARK(1000000000000, SHA2('x', 512))";
    const dump = Buffer.from(`${hangs};\n`);
    const restorer = mariadbRestorer(server.target);
    const restoring = restorer.restore(pieces(dump), () => undefined, late.signal);
    restoring.catch(() => undefined);
    const under =
      "SELECT id FROM information_schema.processlist WHERE info LIKE 'CREATE TABLE a %'";
    await eventually('it hangs', async () => (await sql(under)) !== '');
    late.abort(new ServiceError('DEADLINE_EXCEEDED', 'It took too long.'));
    await assert.rejects(restoring, {
      code: 'DEADLINE_EXCEEDED',
      message: 'It took too long. The data is as it was.',
    });
    assert.equal(await state(), first);
    await eventually('it is ended', async () => (await sql(under)) === '');
    await restore(whole);
    assert.equal(await state(), first);
  });

  it('loses nothing that an exchange left which was cut off, when the next dump is no good', async () => {
    const first = await state();
    const admin = await MariadbServer.open(server.target, never);
    const exchange = new MariadbExchange(admin, 'shop');
    await admin.makeIncoming();
    await exchange.prepare();
    admin.makeAnew = () => Promise.reject(new Error('It is cut off.'));
    await assert.rejects(exchange.run(), /cut off/);
    await assert.rejects(state());
    await assert.rejects(restore(Buffer.alloc(0)));
    assert.equal(await recoverMariadb(server.target, never), 'previous');
    assert.equal(await state(), first);
  });

  it('puts the live tables back when the exchange fails', async () => {
    const bytes = await dumped();
    await sql("CREATE TABLE only_live (i INT); CREATE VIEW broken AS SELECT i FROM only_live; INSERT INTO only_live VALUES (5)"); // prettier-ignore
    const first = await state();
    // It can be made beside the live database, and no more when the live tables are gone.
    const view = Buffer.from('\nCREATE VIEW bad AS SELECT i FROM shop.only_live;\n');
    await assert.rejects(restore(Buffer.concat([bytes, view])), /The previous data is back\.$/);
    assert.equal(await sql('SELECT i FROM broken'), '5\n');
    assert.equal(await state(), first);
    await sql('INSERT INTO cups VALUES (3, 9)');
  });
});

/** Redis and MariaDB by the servers of the machine, with their own clients. */
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Databases, oddPassword, run, runMariadb } from '../support/databases.ts';
import { needs } from '../support/programs.ts';
import { Gangway, until } from '../support/gangway.ts';

const noRedis = needs('redis-server', 'redis-cli');
const noMariadb = needs('mariadbd', 'mariadb');

describe('databases by servers of the machine', () => {
  let gangway: Gangway;
  let databases: Databases;
  before(async () => {
    gangway = await Gangway.open();
    databases = new Databases(gangway);
  });
  after(() => gangway.end());

  const redis = (url: string, ...command: string[]): Promise<string> => {
    const { hostname, port, password } = new URL(url);
    const env = { REDISCLI_AUTH: decodeURIComponent(password) };
    return run('redis-cli', ['-e', '-h', hostname, '-p', port, '--no-auth-warning', ...command], env); // prettier-ignore
  };

  for (const password of [undefined, oddPassword]) {
    const which = password === undefined ? 'a password of ours' : 'an odd password';

    it(`Redis keeps what redis-cli wrote, with ${which}`, { skip: noRedis }, async () => {
      const { id, version } = await databases.running({ engine: 'REDIS', password });
      assert.match(version, /^\d+\.\d+\.\d+$/);
      const address = await databases.reveal(id);
      assert.match(address, /^redis:\/\/default:[^@]+@127\.0\.0\.1:\d+\/0$/);
      if (password !== undefined) assert.equal(decodeURIComponent(new URL(address).password), password); // prettier-ignore
      assert.equal(await redis(address, 'SET', 'tea', 'green'), 'OK\n');
      await assert.rejects(redis(address.replace(/:[^:@]+@/, ':wrong@'), 'GET', 'tea'));
      assert.deepEqual(await databases.exec(id, 'GET tea'), execOutcome('"green"\n'));
      assert.notEqual((await databases.exec(id, 'NOSUCHCOMMAND')).exitCode, 0);
      const rotated = await databases.rotate(id);
      await assert.rejects(redis(address, 'GET', 'tea'));
      assert.equal(await redis(rotated, 'GET', 'tea'), 'green\n');
      await databases.setRunning(id, false);
      await databases.setRunning(id, true);
      await databases.becomes(id, 'running');
      assert.equal(await databases.reveal(id), rotated);
      assert.equal(await redis(rotated, 'GET', 'tea'), 'green\n');
      await databases.delete(id);
    });

    it(`MariaDB keeps what its client wrote, with ${which}`, { skip: noMariadb }, async () => {
      const { id, version } = await databases.running({
        engine: 'MARIADB',
        databaseName: 'shop_1',
        username: 'ann',
        password,
      });
      assert.match(version, /^\d+\.\d+\.\d+$/);
      const address = await databases.reveal(id);
      assert.match(address, /^mysql:\/\/ann:[^@]+@127\.0\.0\.1:\d+\/shop_1$/);
      await runMariadb(address, "CREATE TABLE t (what text); INSERT INTO t VALUES ('tea')");
      assert.equal(await runMariadb(address, 'SELECT what FROM t'), 'what\ntea\n');
      await assert.rejects(runMariadb(address, 'CREATE DATABASE other'));
      const { output, exitCode } = await databases.exec(id, 'SELECT what FROM t');
      assert.equal(exitCode, 0);
      assert.match(output, /\| tea +\|/);
      const rotated = await databases.rotate(id);
      await assert.rejects(runMariadb(address, 'SELECT 1'));
      assert.equal(await runMariadb(rotated, 'SELECT what FROM t'), 'what\ntea\n');
      await databases.setRunning(id, false);
      await databases.setRunning(id, true);
      await databases.becomes(id, 'running');
      assert.equal(await runMariadb(rotated, 'SELECT what FROM t'), 'what\ntea\n');
      await databases.delete(id);
    });
  }

  it(
    'Redis keeps the password that its file has when it cannot be written',
    { skip: noRedis },
    async () => {
      const { id } = await databases.running({ engine: 'REDIS' });
      const address = await databases.reveal(id);
      const data = join(gangway.dataDir, 'apps', id, 'data');
      chmodSync(data, 0o500);
      const rotate = 'mutation($id: ID!) { rotateDatabasePassword(id: $id) }';
      assert.equal(await gangway.client.fails(rotate, { id }), 'NOT_RUNNING');
      assert.equal(await databases.reveal(id), address);
      assert.equal(await redis(address, 'PING'), 'PONG\n');
      chmodSync(data, 0o700);
      const rotated = await databases.rotate(id);
      assert.notEqual(rotated, address);
      assert.equal(await redis(rotated, 'PING'), 'PONG\n');
      await databases.delete(id);
    },
  );

  it('says what there is for versions and engines that there are not', async () => {
    const asked = async (input: object): Promise<string> => {
      const { errors } = await gangway.client.graphql(
        'mutation($input: CreateDatabaseInput!) { createDatabase(input: $input) { id } }',
        { input: { name: 'X', ...input } },
      );
      return `${String(errors[0]?.extensions.code)}: ${String(errors[0]?.message)}`;
    };
    assert.match(await asked({ engine: 'POSTGRES', version: '12' }), /^BAD_USER_INPUT: .*no PostgreSQL 12\. There is: 18\.\d/); // prettier-ignore
    assert.match(await asked({ engine: 'POSTGRES', version: '18.99' }), /^BAD_USER_INPUT: /);
    assert.match(await asked({ engine: 'POSTGRES', version: 'newest; rm -rf /' }), /^BAD_USER_INPUT: version must be/); // prettier-ignore
    // Where a client is missing, or hidden from the tests, the service may find the server or not.
    const redis = await asked({ engine: 'REDIS', version: '1' });
    if (noRedis === false || !redis.startsWith('ENGINE_NOT_AVAILABLE: ')) {
      assert.match(redis, /^BAD_USER_INPUT: .*no Redis 1\./);
    }
    const mariadb = await asked({ engine: 'MARIADB', version: '5.5' });
    if (noMariadb === false || !mariadb.startsWith('ENGINE_NOT_AVAILABLE: ')) {
      assert.match(mariadb, /^BAD_USER_INPUT: .*no MariaDB 5\.5/);
    }
    for (const engine of ['MYSQL', 'MONGODB', 'CLICKHOUSE']) {
      assert.match(await asked({ engine }), /^ENGINE_NOT_AVAILABLE: .*Docker/);
    }
    for (const name of ['', 'A', '1a', 'a-b', 'postgres', 'pg_x', 'a'.repeat(64)]) {
      const verdict = await asked({ engine: 'POSTGRES', username: name || '9' });
      assert.match(verdict, /^BAD_USER_INPUT: username/, name);
    }
    const hostile = [`a"b`, `a'b`, 'a`b', 'a\\b', 'a b', 'a\nb', 'a\0b', '--drop', 'été', '\u202eab', '$(id)', 'x'.repeat(700_000)]; // prettier-ignore
    for (const value of hostile) {
      for (const field of ['databaseName', 'username']) {
        const verdict = await asked({ engine: 'POSTGRES', [field]: value });
        assert.match(verdict, /^BAD_USER_INPUT: (databaseName|username) must be lower-case letters/, value.slice(0, 20)); // prettier-ignore
        assert.ok(verdict.length < 300);
      }
    }
    for (const name of [
      '',
      '  ',
      'a\nb',
      'a\0b',
      '\u202ecod',
      'x'.repeat(101),
      'x'.repeat(700_000),
    ]) {
      assert.match(await asked({ engine: 'POSTGRES', name }), /^BAD_USER_INPUT: The name/);
    }
    for (const version of ['latest', '18;', '18\0', '-1', '١٨', '9'.repeat(700_000)]) {
      assert.match(
        await asked({ engine: 'POSTGRES', version }),
        /^BAD_USER_INPUT: version must be/,
      );
    }
    assert.match(
      await asked({ engine: 'POSTGRES', resources: { replicas: 2 } }),
      /^BAD_USER_INPUT: /,
    );
    for (const folderId of ['', 'fld_none', '../x']) {
      assert.match(await asked({ engine: 'POSTGRES', folderId }), /^(NOT_FOUND|BAD_USER_INPUT): /);
    }
    assert.match(await asked({ engine: 'POSTGRES', serverId: 'srv_none' }), /^(NOT_FOUND|BAD_USER_INPUT): /); // prettier-ignore
    assert.match(await asked({ engine: 'REDIS', username: 'ann' }), /^BAD_USER_INPUT: Redis has no username to choose/); // prettier-ignore
    for (const password of [
      '',
      'short',
      'x'.repeat(129),
      'with\nline ends',
      'with\0zero in it',
      'ünïcödé passwörd',
      'x'.repeat(700_000),
    ]) {
      assert.match(await asked({ engine: 'POSTGRES', password }), /^BAD_USER_INPUT: password/);
    }
    const { databases: there } = await gangway.client.must<{ databases: { name: string }[] }>(
      '{ databases { name } }',
    );
    assert.ok(there.every(({ name }) => name !== 'X'));
  });

  it('makes several at once', async () => {
    const names = ['a', 'b', 'c'];
    const made = await Promise.all(names.map((name) => databases.create({ name })));
    for (const { id } of made) await databases.becomes(id, 'running');
    const addresses = await Promise.all(made.map(({ id }) => databases.reveal(id)));
    assert.equal(new Set(addresses.map((address) => new URL(address).port)).size, names.length);
    for (const { id } of made) await databases.delete(id);
    await until('their servers are gone', 30_000, async () => {
      const { trash } = await gangway.client.must<{ trash: { id: string }[] }>('{ trash { id } }');
      return trash.length >= names.length;
    });
  });
});

function execOutcome(output: string): { output: string; exitCode: number; truncated: boolean } {
  return { output, exitCode: 0, truncated: false };
}

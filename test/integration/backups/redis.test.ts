/** Redis through a backup and back, by the server that this machine has. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { feed } from '../../../src/backups/client-program.ts';
import { redisRestorer } from '../../../src/backups/restores/redis-restorer.ts';
import { databaseSource } from '../../../src/backups/sources/database-sources.ts';
import { withoutMark } from '../../../src/backups/sources/redis-source.ts';
import { collected, databaseServer, pieces } from '../../support/database-server.ts';
import type { DatabaseServer } from '../../support/database-server.ts';
import { needs } from '../../support/programs.ts';

const never = new AbortController().signal;

describe('Redis', { skip: needs('redis-server', 'redis-cli') }, () => {
  let server: DatabaseServer;
  before(async () => {
    server = await databaseServer('REDIS');
    await ask("EVAL \"for i = 1, 5000 do redis.call('SET', 'key ' .. i, i * 3) end\" 0");
    await ask('LPUSH list a b c');
  });
  after(() => server.close());

  const ask = async (line: string): Promise<string> => {
    const { socket, password } = server.target;
    const command = ['/usr/bin/redis-cli', '-s', socket ?? ''];
    const spec = { command, env: { REDISCLI_AUTH: password } };
    return (await feed(server.target, spec, pieces(Buffer.from(`${line}\n`)), never)).toString();
  };
  const dumped = async (): Promise<Buffer> =>
    collected((await databaseSource(server.target)).read(never));
  const restore = (bytes: Buffer): Promise<void> =>
    redisRestorer(server.target, bytes.length).restore(pieces(bytes), () => undefined, never);
  const state = async (): Promise<string> =>
    `${await ask('DBSIZE')}${await ask('GET "key 77"')}${await ask('LRANGE list 0 -1')}`;

  it('comes back whole, with its password, and keeps what is written then', async () => {
    const source = await databaseSource(server.target);
    assert.deepEqual([source.kind, source.ending], ['redis', 'rdb']);
    const first = await state();
    const bytes = await dumped();
    assert.equal(bytes.subarray(0, 5).toString(), 'REDIS');
    assert.equal(bytes.at(-9), 0xff);
    await ask('FLUSHALL');
    await ask('SET other 1');
    await restore(bytes);
    assert.equal(await state(), first);
    await ask('SET more 5');
    await server.target.control.stop();
    await server.target.control.start();
    assert.equal(await ask('GET more'), '5\n');
    assert.equal(await ask('GET "key 77"'), '231\n');
  });

  it('comes back whole where the server was told to keep no file', async () => {
    const first = await state();
    const bytes = await dumped();
    assert.equal(await ask('CONFIG SET appendonly no'), 'OK\n');
    assert.equal(await ask('CONFIG REWRITE'), 'OK\n');
    await ask('FLUSHALL');
    await restore(bytes);
    assert.equal(await state(), first);
    assert.equal(await ask('CONFIG GET appendonly'), 'appendonly\nyes\n');
  });

  it('runs no command that stands behind the RDB', async () => {
    const first = await state();
    const behind = 'SELECT 0\r\nSET key-behind 1\r\nACL SETUSER evil on nopass ~* +@all\r\n';
    const line = (words: string[]): string =>
      `*${String(words.length)}\r\n${words.map((word) => `$${String(word.length)}\r\n${word}\r\n`).join('')}`;
    const commands = behind
      .trim()
      .split('\r\n')
      .map((one) => line(one.split(' ')));
    await restore(Buffer.concat([await dumped(), Buffer.from(commands.join(''))]));
    assert.equal(await state(), first);
    assert.equal(await ask('EXISTS key-behind'), '0\n');
    assert.doesNotMatch(await ask('ACL LIST'), /evil/);
    await server.target.control.stop();
    await server.target.control.start();
    assert.equal(await state(), first);
    assert.doesNotMatch(await ask('ACL LIST'), /evil/);
  });

  it('puts the previous data back when the RDB is damaged', async () => {
    const first = await state();
    const bytes = await dumped();
    const broken = Buffer.from(bytes);
    broken.fill(0x5a, 3000, 9000);
    await assert.rejects(restore(broken), /The previous data is back\.$/);
    assert.equal(await state(), first);
  });

  it('stays as it is for what is no RDB', async () => {
    const first = await state();
    for (const bad of ['SELECT 1;', '', 'PGDMP']) {
      await assert.rejects(restore(Buffer.from(bad)), /The data is as it was\.$/);
    }
    assert.equal(await state(), first);
  });
});

describe('an RDB', () => {
  const rdb = Buffer.concat([Buffer.from('REDIS0010'), Buffer.alloc(500, 0x61), Buffer.from([0xff]), Buffer.alloc(8, 0x62)]); // prettier-ignore
  const through = (bytes: Buffer, size: number): Promise<Buffer> =>
    collected(withoutMark(pieces(bytes, size)));

  it('loses the mark of a transfer, and nothing else, however it is cut', async () => {
    const mark = Buffer.from('0123456789abcdef0123456789abcdef01234567');
    for (const size of [1, 7, 40, 100, 1000]) {
      assert.deepEqual(await through(Buffer.concat([rdb, mark]), size), rdb);
      assert.deepEqual(await through(rdb, size), rdb);
    }
  });

  it('is refused when it is cut off, or none', async () => {
    for (const bad of [
      rdb.subarray(0, 300),
      rdb.subarray(0, 20),
      Buffer.alloc(0),
      Buffer.from('x'.repeat(200)),
    ]) {
      await assert.rejects(through(bad, 50), { code: 'DUMP_FAILED' });
    }
  });
});

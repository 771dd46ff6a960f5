import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Command, Server } from '../../../../../src/actors/database/engines/engine.ts';
import { PasswordRefused } from '../../../../../src/actors/database/engines/engine.ts';
import { engines } from '../../../../../src/actors/database/engines/engines.ts';
import type { DatabaseEngine } from '../../../../../src/store/records/records.ts';
import { connectToServer } from '../../../../support/machine.ts';

const names = { databaseName: 'shop', username: 'ann' };
const secrets = { password: `odd'"\\$(x)\`y;z`, adminPassword: 'admin-password-of-32-characters!' };
const access = { ...names, password: secrets.password, host: '10.0.0.1', port: 7000 };
const signal = new AbortController().signal;

/** What an image of each engine is started with: environment, and where its files and its port are. */
const images: Record<
  DatabaseEngine,
  { env: string[]; port: number; volume: string; image: string }
> = {
  // prettier-ignore
  POSTGRES: { env: ['PGDATA', 'POSTGRES_PASSWORD', 'POSTGRES_USER'], port: 5432, volume: '/data', image: 'postgres:18-alpine' }, // prettier-ignore
  MYSQL: { env: ['MYSQL_DATABASE', 'MYSQL_ROOT_HOST', 'MYSQL_ROOT_PASSWORD'], port: 3306, volume: '/var/lib/mysql', image: 'mysql:8.4' }, // prettier-ignore
  MARIADB: { env: ['MARIADB_DATABASE', 'MARIADB_PASSWORD', 'MARIADB_ROOT_HOST', 'MARIADB_ROOT_PASSWORD', 'MARIADB_USER'], port: 3306, volume: '/var/lib/mysql', image: 'mariadb:11.8' }, // prettier-ignore
  MONGODB: { env: ['MONGO_INITDB_ROOT_PASSWORD', 'MONGO_INITDB_ROOT_USERNAME'], port: 27017, volume: '/data/db', image: 'mongo:8.0' }, // prettier-ignore
  REDIS: { env: ['GANGWAY_REDIS_PASSWORD'], port: 6379, volume: '/data', image: 'redis:8.2-alpine' }, // prettier-ignore
  CLICKHOUSE: { env: ['CLICKHOUSE_DB', 'CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT', 'CLICKHOUSE_PASSWORD', 'CLICKHOUSE_USER'], port: 9000, volume: '/var/lib/clickhouse', image: 'clickhouse/clickhouse-server:25.8-alpine' }, // prettier-ignore
};

/** A server that keeps what it is asked to run. */
function recorded(
  exitCode = 0,
  said = 'some warning\nit said no\n',
): { server: Server; ran: Command[] } {
  const ran: Command[] = [];
  const server: Server = {
    ...names,
    ...secrets,
    host: '127.0.0.1',
    port: 7000,
    ownPort: 3306,
    socket: null,
    connect: connectToServer,
    exec: (command) => {
      ran.push(command);
      const output = Buffer.from(said);
      // What comes behind a refusal is the look which password is in force.
      const outcome = { output, exitCode: ran.length > 1 ? 0 : exitCode, truncated: false };
      return Promise.resolve(outcome);
    },
  };
  return { server, ran };
}

function assertNothingSecret({ command }: Command): void {
  const text = command.join(' ');
  for (const secret of Object.values(secrets)) assert.ok(!text.includes(secret), text);
}

for (const name of Object.keys(engines) as DatabaseEngine[]) {
  const engine = engines[name];
  describe(engine.label, () => {
    it('is run by a pinned image, with its secrets in the environment alone', () => {
      const { image } = engine;
      const wanted = images[name];
      const run = image.run(names, secrets);
      assert.deepEqual(Object.keys(run.env).sort(), wanted.env);
      assertNothingSecret(run);
      const reference = image.reference(image.versions[0] ?? '');
      assert.deepEqual(
        [image.port, image.volume, reference],
        [wanted.port, wanted.volume, wanted.image],
      );
      for (const version of image.versions) assert.match(image.reference(version), /:\d[\w.-]*$/);
    });

    it('has an address that reads back what it is made of', () => {
      const url = new URL(engine.url(access));
      assert.equal(decodeURIComponent(url.password), secrets.password);
      assert.deepEqual([url.hostname, url.port], ['10.0.0.1', '7000']);
      if (engine.rules.username === null) return;
      assert.equal(url.username, 'ann');
      assert.equal(url.pathname, '/shop');
    });

    it('shows no password in the arguments of its client', async () => {
      for (const command of [
        await engine.client(access, null, null),
        await engine.client(access, 'SELECT 1', null),
      ]) {
        assertNothingSecret(command);
        assert.ok(Object.values(command.env).includes(secrets.password));
      }
    });
  });
}

describe('engines that are asked by their own client', () => {
  for (const name of ['MYSQL', 'MARIADB', 'MONGODB', 'CLICKHOUSE'] as const) {
    it(`${name} is well when the client succeeds, and says its last word when not`, async () => {
      const { server, ran } = recorded();
      assert.deepEqual(await engines[name].check(server, signal), { kind: 'well' });
      for (const command of ran) assertNothingSecret(command);
      const wrong = await engines[name].check(recorded(1).server, signal);
      assert.deepEqual(wrong, { kind: 'unwell', seen: 'it said: it said no' });
    });

    it(`${name} is given another password without it in an argument`, async () => {
      const { server, ran } = recorded();
      const next = 'another-password';
      await engines[name].setUp(server, signal);
      await engines[name].setPassword(server, next, signal);
      assert.ok(ran.length > 0);
      for (const command of ran) {
        assertNothingSecret(command);
        assert.ok(!command.command.join(' ').includes(next));
      }
      await assert.rejects(engines[name].setPassword(recorded(1).server, next, signal));
    });
  }
});

describe('a password that a server does not take', () => {
  const cases = [
    ['MYSQL', 'ERROR 1290 (HY000) at line 1: read only', 'ERROR 2013 (HY000): Lost connection'],
    ['MARIADB', 'ERROR 3 (HY000): Error writing file', "ERROR 2002 (HY000): Can't connect"],
    ['MONGODB', 'MongoServerError: no space', 'MongoServerSelectionError: timed out'],
    ['CLICKHOUSE', 'Code: 243. DB::Exception: Received from 127.0.0.1:9000.', 'Code: 210. refused'],
  ] as const;
  for (const [name, refusal, cut] of cases) {
    it(`is known to be out of force for ${name} by its own no, and a sign-in by the one before`, async () => {
      const { server, ran } = recorded(1, `some warning\n${refusal}\n`);
      await assert.rejects(engines[name].setPassword(server, 'next', signal), PasswordRefused);
      assert.ok(ran[1] !== undefined && Object.values(ran[1].env).includes(secrets.password));
      for (const command of ran) assertNothingSecret(command);
      await assert.rejects(engines[name].setPassword(recorded(1, cut).server, 'next', signal), {
        name: 'ServerRefusal',
      });
    });
  }

  for (const denied of ['1045 (28000): Access denied', "1130 (HY000): Host '127.0.0.1' is not"]) {
    it(`leaves MySQL of an earlier version well, and says that it is one: ${denied}`, async () => {
      const said = `ERROR ${denied}\n`;
      const asked = recorded(1, said);
      assert.deepEqual(await engines.MYSQL.check(asked.server, signal), { kind: 'well' });
      assert.equal(asked.ran[1]?.env['MYSQL_PWD'], secrets.password);
      const { server } = recorded(1, said);
      await assert.rejects(engines.MYSQL.setPassword(server, 'next', signal), {
        name: 'PasswordRefused',
        why: /made by an earlier version/,
      });
    });
  }

  it('may be in force in a Redis that was cut off before it had written it', async () => {
    const place = await scriptedRedis((words) => (words[1] === 'REWRITE' ? null : '+OK'));
    await assert.rejects(engines.REDIS.setPassword(place.server, 'next', signal), {
      name: 'Error',
    });
    await place.close();
  });

  it('is out of force in a Redis that could not write it, and was given the one before', async () => {
    const place = await scriptedRedis((words) => (words[1] === 'REWRITE' ? '-ERR full' : '+OK'));
    await assert.rejects(engines.REDIS.setPassword(place.server, 'next', signal), PasswordRefused);
    const set = place.commands.filter(([, verb]) => verb === 'SET').map((words) => words.at(-1));
    assert.deepEqual(set, ['next', secrets.password]);
    await place.close();
  });
});

describe('a server with a socket', () => {
  it("is asked there and nowhere else: its port may be anybody's", async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'gangway-socket-'));
    t.after(() => {
      rmSync(dir, { recursive: true });
    });
    const place = await scriptedRedis(() => '+OK', join(dir, 's'));
    const other = await scriptedRedis(() => '+OK');
    const server = { ...place.server, port: other.server.port, socket: join(dir, 's') };
    await engines.REDIS.setPassword(server, 'next', signal);
    assert.ok(place.commands.some(([verb]) => verb === 'AUTH'));
    assert.deepEqual(other.commands, []);
    await Promise.all([place.close(), other.close()]);
    const { server: asked, ran } = recorded();
    await engines.MARIADB.check({ ...asked, socket: "/it's/s" }, signal);
    const [, , line = ''] = ran[0]?.command ?? [];
    assert.ok(line.includes(String.raw`--protocol=socket '--socket=/it'\''s/s'`), line);
    assert.ok(!line.includes('--host'));
    const by = { ...asked, socket: '/run/db' };
    assert.equal((await engines.POSTGRES.client(by, null, null)).env['PGHOST'], '/run/db');
    const redis = await engines.REDIS.client(by, null, null);
    assert.deepEqual(redis.command, ['redis-cli', '-s', '/run/db']);
  });

  it('has none where the path would be too long for one', () => {
    for (const engine of [engines.POSTGRES, engines.MARIADB, engines.REDIS]) {
      assert.notEqual(engine.host?.socket({ run: '/data/run' }, 5432), null);
      assert.equal(engine.host?.socket({ run: `/${'d'.repeat(110)}` }, 5432), null);
    }
  });
});

/** A Redis that answers each command as it is told; null: it cuts the connection. */
async function scriptedRedis(
  answer: (words: readonly string[]) => string | null,
  path?: string,
): Promise<{ server: Server; commands: string[][]; close: () => Promise<void> }> {
  const commands: string[][] = [];
  const listener = createServer((socket) => {
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on('data', (text: string) => {
      for (const command of text.split(/^\*\d+\r\n/m).slice(1)) {
        const words = command.split('\r\n').filter((_, at) => at % 2 === 1);
        commands.push(words);
        const said = answer(words);
        if (said === null) return void socket.destroy();
        socket.write(`${said}\r\n`);
      }
    });
  });
  if (path === undefined) listener.listen(0, '127.0.0.1');
  else listener.listen(path);
  await once(listener, 'listening');
  const port = path === undefined ? (listener.address() as AddressInfo).port : 0;
  const close = async (): Promise<void> => {
    listener.close();
    await once(listener, 'close');
  };
  return { server: { ...recorded().server, port }, commands, close };
}

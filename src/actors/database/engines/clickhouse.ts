/**
 * Owns ClickHouse, by its image alone. Clients use its native protocol. Its user is made by SQL, because a
 * user from the image's variables cannot get another password.
 */
import { createHash } from 'node:crypto';
import {
  type Access,
  addressOf,
  changeByClient,
  checkByClient,
  type Command,
  type Engine,
  fedByShell,
  identifierRule,
  runByClient,
  type Server,
} from './engine.ts';

const admin = 'gangway';
// prettier-ignore
const reserved = ['default', 'system', 'information_schema', admin];

export const clickhouse: Engine = {
  label: 'ClickHouse',
  complaint: /<(?:Error|Fatal)>[^:]*: (?<text>.+)$/,
  defaults: { databaseName: 'app', username: 'app' },
  rules: { databaseName: identifierRule(63, reserved), username: identifierRule(63, reserved) },
  host: null,
  image: {
    versions: ['25.8', '25.3', '24.8'],
    reference: (version) => `clickhouse/clickhouse-server:${version}-alpine`,
    port: 9000,
    volume: '/var/lib/clickhouse',
    run: ({ databaseName }, { adminPassword }) => ({
      command: [],
      env: {
        CLICKHOUSE_DB: databaseName,
        CLICKHOUSE_USER: admin,
        CLICKHOUSE_PASSWORD: adminPassword,
        CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: '1',
      },
    }),
  },
  url: (access) => addressOf('clickhouse', access),
  check: (server, signal) => checkByClient(server, asAdmin(server, 'SELECT 1'), signal),
  setUp: (server, signal) => {
    const by = hashed(server.password);
    const text = `CREATE DATABASE IF NOT EXISTS \`${server.databaseName}\`;
       CREATE USER IF NOT EXISTS \`${server.username}\` IDENTIFIED ${by};
       ALTER USER \`${server.username}\` IDENTIFIED ${by};
       GRANT ALL ON \`${server.databaseName}\`.* TO \`${server.username}\`;`;
    return runByClient(server, asAdmin(server, text), signal);
  },
  setPassword: (server, password, signal) => {
    const text = `ALTER USER \`${server.username}\` IDENTIFIED ${hashed(password)};`;
    const own = { ...server, host: '127.0.0.1', port: server.ownPort };
    return changeByClient(
      server,
      {
        change: asAdmin(server, text),
        isRefusal: (said) => said.includes('Received from '),
        signIn: client(own, ['--query', 'SELECT 1']),
      },
      signal,
    );
  },
  client: (access, statement) => {
    if (statement === null) return Promise.resolve(client(access, []));
    const { command, env } = client(access, ['--multiquery']);
    return Promise.resolve(fedByShell(command.join(' '), statement, env));
  },
};

function hashed(password: string): string {
  return `WITH sha256_hash BY '${createHash('sha256').update(password).digest('hex')}'`;
}

function asAdmin(server: Server, text: string): Command {
  const client = `clickhouse-client --host 127.0.0.1 --port ${String(server.ownPort)} --multiquery`;
  const env = { CLICKHOUSE_USER: admin, CLICKHOUSE_PASSWORD: server.adminPassword };
  return fedByShell(client, text, env);
}

function client(access: Access, flags: readonly string[]): Command {
  const { host, port, username, password, databaseName } = access;
  return {
    command: [
      ...['clickhouse-client', '--host', host, '--port', String(port)],
      ...['--database', databaseName, ...flags],
    ],
    env: { CLICKHOUSE_USER: username, CLICKHOUSE_PASSWORD: password },
  };
}

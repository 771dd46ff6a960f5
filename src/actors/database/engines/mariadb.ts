/**
 * Owns MariaDB and MySQL, which differ in little: MariaDB by the server of the machine or its image,
 * MySQL by its image alone.
 *
 * 1. Of passwords of MariaDB only hashes stand in statements and in files. MySQL is told them as they
 *    are, and keeps them out of its own logs.
 * 2. Each has an administrator for 127.0.0.1: their images look up no names, so that `localhost` is
 *    nobody who comes over the network of the sandbox. Servers that were made before have one for
 *    `localhost` alone: they are asked by their user, and cannot be given another password.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ServiceError } from '../../../lib/errors.ts';
import type { DatabaseEngine } from '../../../store/records/records.ts';
import {
  type Access,
  changeByClient,
  type Command,
  type Engine,
  fedByShell,
  type HostEngine,
  type HostPlace,
  type HostServer,
  type HostTools,
  identifierRule,
  lastLine,
  type Names,
  type Secrets,
  type Server,
  type Wellness,
  ServerRefusal,
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
  username: identifierRule(32, [...reserved]),
};
// ER_ACCESS_DENIED_ERROR, ER_HOST_NOT_PRIVILEGED, ER_ACCESS_DENIED_NO_PASSWORD_ERROR
const deniedErrors: ReadonlySet<number | null> = new Set([1045, 1130, 1698]);
const madeBefore =
  'It was made by an earlier version, whose administrator cannot change passwords from here: make another database and move the data.';
const defaults = { databaseName: 'app', username: 'app' };

export const mariadb: Engine = {
  ...shared('MARIADB', 'mariadb'),
  label: 'MariaDB',
  // The image does it, or the server as it starts.
  setUp: () => Promise.resolve(),
  check: async (server, signal) => (await check(server, 'mariadb', 'user', signal)).wellness,
  host: hostEngine(),
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
  ...shared('MYSQL', 'mysql'),
  label: 'MySQL',
  setUp: (server, signal) => asRoot(server, 'mysql', userStatements(server), signal),
  check: checkMysql,
  host: null,
  image: {
    versions: ['8.4', '9.4', '8.0'],
    reference: (version) => `mysql:${version}`,
    port: 3306,
    volume: '/var/lib/mysql',
    // Its user is made by statements of ours: the image would put a password into one as it is.
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
  name: DatabaseEngine,
  program: Program,
): Pick<
  Engine,
  'name' | 'complaint' | 'defaults' | 'rules' | 'url' | 'setPassword' | 'console' | 'statement'
> {
  return {
    name,
    defaults,
    rules,
    complaint: /\[ERROR\](?: \[[^\]]*\])* (?<text>(?!Aborting).+)$/,
    url: ({ username, password, host, port, databaseName }) =>
      `mysql://${encodeURIComponent(username)}:${encodeURIComponent(password)}@${host}:${String(port)}/${encodeURIComponent(databaseName)}`,
    setPassword: (server, password, signal) => {
      const { username, password: own, adminPassword, ownPort } = server;
      const text = passwordStatement(server, program, password);
      return changeByClient(
        server,
        {
          change: sql(program, 'root', adminPassword, ownPort, text),
          isRefusal: (said) => serverError(said) !== null,
          whyOf: (said) => (isDenied(said) ? madeBefore : null),
          signIn: sql(program, username, own, ownPort, 'SELECT 1'),
        },
        signal,
      );
    },
    console: (access, tools) => client(access, program, tools, null),
    statement: (access, text, tools) => client(access, program, tools, text),
  };
}

function hostEngine(): HostEngine {
  return {
    find: (version, tools) => findServer(version, tools),
    again: (_version, tools) => findServer(null, tools),
  };
}

async function findServer(version: string | null, tools: HostTools): Promise<HostServer> {
  const program = await tools.find(['mariadbd', 'mysqld']);
  const installer = await tools.find(['mariadb-install-db', 'mysql_install_db']);
  const said = program === null ? null : await tools.ask(program, ['--no-defaults', '--version']);
  const found = /Ver (\d+\.\d+\.\d+)-MariaDB/.exec(said ?? '')?.[1];
  if (program === null || installer === null || found === undefined) {
    throw new ServiceError(
      'ENGINE_NOT_AVAILABLE',
      'This server has no MariaDB: there is no program mariadbd on it. A server with Docker has it.',
    );
  }
  if (version !== null && found !== version && !found.startsWith(`${version}.`)) {
    throw new ServiceError(
      'BAD_USER_INPUT',
      `This server has no MariaDB ${version}. There is: ${found}.`,
    );
  }
  const env = (place: HostPlace): Record<string, string> => ({
    PATH: tools.path.join(':'),
    HOME: place.home,
    TMPDIR: place.temp,
    LANG: 'C.UTF-8',
  });
  return {
    version: found,
    init: (place) =>
      Promise.resolve({
        command: [
          installer,
          ...['--no-defaults', `--datadir=${place.data}`, `--tmpdir=${place.temp}`],
          ...['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'],
        ],
        env: env(place),
        needsName: false,
      }),
    serve: async (place, port, names, secrets) => {
      const first = await place.write('first.sql', firstStatements(names, secrets));
      return {
        command: [
          program,
          ...['--no-defaults', `--datadir=${place.data}`, `--tmpdir=${place.temp}`],
          ...['--bind-address=127.0.0.1', `--port=${String(port)}`, '--skip-name-resolve'],
          ...[`--socket=${join(place.run, 's')}`, `--pid-file=${join(place.run, 'pid')}`],
          `--init-file=${first}`,
        ],
        env: env(place),
      };
    },
  };
}

/** Run at each start, before anybody is served: what is there already stays as it is. */
function firstStatements({ databaseName, username }: Names, secrets: Secrets): string {
  const user = `'${username}'@'%'`;
  return [
    `CREATE DATABASE IF NOT EXISTS \`${databaseName}\` CHARACTER SET utf8mb4;`,
    `CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY PASSWORD '${nativeHash(secrets.password)}';`,
    `GRANT ALL PRIVILEGES ON \`${databaseName.replaceAll('_', '\\_')}\`.* TO ${user};`,
    `ALTER USER 'root'@'localhost' IDENTIFIED BY PASSWORD '${nativeHash(secrets.adminPassword)}';`,
    "CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED BY 'x' ACCOUNT LOCK;",
    `ALTER USER 'root'@'127.0.0.1' IDENTIFIED BY PASSWORD '${nativeHash(secrets.adminPassword)}' ACCOUNT UNLOCK;`,
    "GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;",
    '',
  ].join('\n');
}

/** What the server compares with: nobody signs in by knowing it. */
function nativeHash(password: string): string {
  const once = createHash('sha1').update(password).digest();
  return `*${createHash('sha1').update(once).digest('hex').toUpperCase()}`;
}

/** Before its user is there the administrator asks. */
async function checkMysql(server: Server, signal: AbortSignal): Promise<Wellness> {
  const { wellness, isLetIn } = await check(server, 'mysql', 'root', signal);
  if (isLetIn) return wellness;
  const { wellness: seen } = await check(server, 'mysql', 'user', signal);
  return seen.kind === 'well' ? seen : wellness;
}

async function check(
  server: Server,
  program: Program,
  as: 'root' | 'user',
  signal: AbortSignal,
): Promise<{ wellness: Wellness; isLetIn: boolean }> {
  const user = as === 'root' ? as : server.username;
  const password = as === 'root' ? server.adminPassword : server.password;
  const { exitCode, output } = await server.exec(
    sql(program, user, password, server.ownPort, 'SELECT 1'),
    signal,
  );
  if (exitCode === 0) return { wellness: { kind: 'well' }, isLetIn: true };
  const seen = `it said: ${lastLine(output)}`;
  const isLetIn = !isDenied(Buffer.from(output).toString('utf8'));
  return { wellness: { kind: 'unwell', seen }, isLetIn };
}

/** What the image of MySQL is not asked to make. */
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

async function asRoot(
  server: Server,
  program: Program,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, output } = await server.exec(
    sql(program, 'root', server.adminPassword, server.ownPort, text),
    signal,
  );
  if (exitCode !== 0) throw new ServerRefusal(lastLine(output));
}

/** The number of an error of the server; null also for those of the client, such as of its connection. */
function serverError(said: string): number | null {
  const number = Number(/^ERROR (\d+) /m.exec(said)?.[1] ?? 2000);
  return number >= 2000 && number < 3000 ? null : number;
}

/** Whether nobody of that name and password is let in from there. */
function isDenied(said: string): boolean {
  return deniedErrors.has(serverError(said));
}

/** A statement over the network of the sandbox, which is not there while an image still makes its files. */
function sql(
  program: Program,
  user: string,
  password: string,
  port: number,
  text: string,
): Command {
  const client = `${program} --no-defaults --protocol=tcp --host=${loopback} --port=${String(port)} --user=${user} --connect-timeout=5 --batch`;
  const fed = fedByShell(client, text);
  return { command: fed.command, env: { ...fed.env, MYSQL_PWD: password } };
}

async function client(
  access: Access,
  program: Program,
  tools: HostTools | null,
  statement: string | null,
): Promise<Command> {
  const path = tools === null ? program : await tools.find([program, 'mysql']);
  if (path === null) {
    throw new ServiceError('ENGINE_NOT_AVAILABLE', `This server has no ${program} client.`);
  }
  const { host, port, username, databaseName } = access;
  const command = [
    ...[path, '--no-defaults', '--protocol=tcp', `--host=${host}`, `--port=${String(port)}`],
    ...[`--user=${username}`, databaseName],
  ];
  const env = { MYSQL_PWD: access.password };
  if (statement === null) return { command, env };
  const fed = fedByShell([...command, '--table'].join(' '), statement);
  return { command: fed.command, env: { ...env, ...fed.env } };
}

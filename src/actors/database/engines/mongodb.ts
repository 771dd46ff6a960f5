/**
 * Owns MongoDB, by its image alone. Its shell gets passwords from the environment, never in a statement or
 * an argument.
 */
import {
  type Access,
  addressOf,
  changeByClient,
  checkByClient,
  type Command,
  type Engine,
  identifierRule,
  runByClient,
  type Server,
} from './engine.ts';

const root = 'root';
const reserved = ['admin', 'config', 'local', root];

export const mongodb: Engine = {
  label: 'MongoDB',
  complaint: /"s":"[FE]".*"msg":"(?<text>[^"]+)"/,
  defaults: { databaseName: 'app', username: 'app' },
  rules: { databaseName: identifierRule(63, reserved), username: identifierRule(63, reserved) },
  host: null,
  image: {
    versions: ['8.0', '7.0'],
    reference: (version) => `mongo:${version}`,
    port: 27017,
    volume: '/data/db',
    run: (_names, { adminPassword }) => ({
      command: [],
      env: { MONGO_INITDB_ROOT_USERNAME: root, MONGO_INITDB_ROOT_PASSWORD: adminPassword },
    }),
  },
  url: (access) => addressOf('mongodb', access),
  check: (server, signal) => {
    const ping = 'if (admin.runCommand({ ping: 1 }).ok !== 1) quit(1);';
    return checkByClient(server, rootShell(server, ping, ''), signal);
  },
  setUp: (server, signal) => {
    const script = `const own = admin.getSiblingDB(env.MONGO_NAME);
       const user = { pwd: env.MONGO_NEW, roles: [{ role: 'dbOwner', db: env.MONGO_NAME }] };
       if (own.getUser(env.MONGO_USER)) own.updateUser(env.MONGO_USER, user);
       else own.createUser({ user: env.MONGO_USER, ...user });`;
    return runByClient(server, rootShell(server, script, server.password), signal);
  },
  setPassword: (server, password, signal) =>
    changeByClient(
      server,
      {
        change: rootShell(
          server,
          'admin.getSiblingDB(env.MONGO_NAME).changeUserPassword(env.MONGO_USER, env.MONGO_NEW);',
          password,
        ),
        isRefusal: (said) => said.includes('MongoServerError'),
        signIn: shell({ ...server, host: '127.0.0.1', port: server.ownPort }, [], connectedScript),
      },
      signal,
    ),
  client: (access, statement) =>
    Promise.resolve(
      statement === null
        ? shell(access, ['--shell'], connectedScript)
        : shell(access, [], `${connectedScript} print(eval(env.MONGO_STATEMENT));`, statement),
    ),
};

const connectedScript = `const env = process.env;
db = connect('mongodb://' + env.MONGO_ADDRESS + '/' + env.MONGO_NAME);
db.auth(env.MONGO_USER, env.MONGO_PASSWORD);`;

function shell(access: Access, flags: string[], script: string, statement?: string): Command {
  return {
    command: ['mongosh', '--quiet', '--nodb', ...flags, '--eval', script],
    env: {
      MONGO_ADDRESS: `${access.host}:${String(access.port)}`,
      MONGO_NAME: access.databaseName,
      MONGO_USER: access.username,
      MONGO_PASSWORD: access.password,
      ...(statement !== undefined && { MONGO_STATEMENT: statement }),
    },
  };
}

function rootShell(server: Server, script: string, password: string): Command {
  const signIn = `const env = process.env;
    const admin = connect('mongodb://127.0.0.1:' + env.MONGO_PORT + '/admin');
    admin.auth('${root}', env.MONGO_ROOT_PASSWORD);`;
  return {
    command: ['mongosh', '--quiet', '--nodb', '--eval', `${signIn}\n${script}`],
    env: {
      MONGO_PORT: String(server.ownPort),
      MONGO_NAME: server.databaseName,
      MONGO_USER: server.username,
      MONGO_NEW: password,
      MONGO_ROOT_PASSWORD: server.adminPassword,
    },
  };
}

/**
 * Owns Redis: the one of the machine, or its image. Every write goes to its append-only file. The password
 * lies in its configuration file alone. Redis rewrites that file when the password changes, so a restart by
 * the driver uses the newest one. A password that Redis cannot write to the file is not taken.
 */
import { join } from 'node:path';
import { addAbortSignal, type Duplex } from 'node:stream';
import type { MachineTools } from '../../../places/place.ts';
import {
  addressOf,
  type Engine,
  fedByShell,
  findProgram,
  hostEnvironment,
  type HostServer,
  notAvailable,
  PasswordRefused,
  quotedForShell,
  requireHost,
  type Server,
  ServerRefusal,
  socketPath,
} from './engine.ts';

const timeoutMs = 5000;
const answerMaxBytes = 16 * 1024;
const configName = 'redis.conf';
const passwordVariable = 'GANGWAY_REDIS_PASSWORD';

export const redis: Engine = {
  label: 'Redis',
  complaint:
    /^\d+:[A-Z] \d.*? # (?<text>(?!oO0|Redis |Configuration loaded|Server initialized|User requested|WARNING).+)$/,
  defaults: { databaseName: '', username: 'default' },
  rules: { databaseName: null, username: null },
  host: {
    find: findServer,
    again: (_version, tools) => findServer(null, tools),
    socket: ({ run }) => socketPath(join(run, 's')),
  },
  image: {
    versions: ['8.2', '8.0', '7.4', '7.2'],
    reference: (version) => `redis:${version}-alpine`,
    port: 6379,
    volume: '/data',
    run: (_names, { password }) => ({
      command: imageCommand,
      env: { [passwordVariable]: password },
    }),
  },
  url: (access) => addressOf('redis', { ...access, databaseName: '0' }),
  async check(server, signal) {
    try {
      const [answer = ''] = await talkToRedis(server, [['PING']], signal);
      return answer === '+PONG' ? { kind: 'well' } : { kind: 'unwell', seen: 'PING got no PONG' };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RedisRefusal)) return { kind: 'unwell', seen: 'PING got no answer' };
      const loads = error.message.startsWith('LOADING');
      return { kind: loads ? 'starting' : 'unwell', seen: `PING got: ${error.message}` };
    }
  },
  setUp: () => Promise.resolve(),
  async setPassword(server, password, signal) {
    const set = (to: string): string[] => ['CONFIG', 'SET', 'requirepass', to];
    let isSetNow = true;
    try {
      await talkToRedis(server, [set(password)], signal);
    } catch (error) {
      if (!(error instanceof RedisRefusal)) throw error;
      if (error.signedIn) throw new PasswordRefused(null, { cause: error });
      // An earlier try succeeded without knowing it.
      if (!error.message.startsWith('WRONGPASS')) throw error;
      isSetNow = false;
    }
    const changed = { ...server, password };
    try {
      await talkToRedis(changed, [['CONFIG', 'REWRITE']], signal);
    } catch (error) {
      // After a try with an unknown result, the file may hold the new password.
      if (!(error instanceof RedisRefusal) || !isSetNow) throw error;
      // The file could not be written, as with a full disk. It holds the old password, so Redis gets that
      // one back.
      await talkToRedis(changed, [set(server.password)], signal);
      throw new PasswordRefused(null, { cause: error });
    }
  },
  async client(access, statement, tools) {
    const program = tools === null ? 'redis-cli' : await tools.find(['redis-cli']);
    if (program === null) throw notAvailable('This server has no redis-cli.');
    const { host, port, socket = null } = access;
    const at = socket === null ? ['-h', host, '-p', String(port)] : ['-s', socket];
    const command = [program, ...at];
    const env = { REDISCLI_AUTH: access.password };
    if (statement === null) return { command, env };
    const line = [...command, '--no-raw'].map(quotedForShell).join(' ');
    return fedByShell(`${line} | ${failsOnError}`, statement, env);
  },
};

const settings = (password: string): string[] => [
  `requirepass "${password.replaceAll(/["\\]/g, '\\$&')}"`,
  'appendonly yes',
  'maxmemory-policy noeviction',
];

/** Writes the file once: after that Redis itself rewrites it. */
const imageCommand = [
  '/bin/sh',
  '-ec',
  [
    `file=/data/${configName}`,
    // Escapes the characters that would end a quoted word.
    `if [ ! -s "$file" ]; then umask 077; { printf 'requirepass "'; printf '%s' "$${passwordVariable}" | sed 's/["\\\\]/\\\\&/g'; printf '"\\nappendonly yes\\nmaxmemory-policy noeviction\\n'; } > "$file.new"; mv "$file.new" "$file"; fi`,
    `unset ${passwordVariable}`,
    'if id redis > /dev/null 2>&1; then chown redis "$file"; fi',
    // The image's own entry point gives up the rights of root.
    'if command -v docker-entrypoint.sh > /dev/null; then exec docker-entrypoint.sh redis-server "$file" --dir /data; fi',
    'exec redis-server "$file" --dir /data',
  ].join('\n'),
];

const hostProgram = {
  label: 'Redis',
  names: ['redis-server'],
  versionArgs: ['--version'],
  version: /v=(\d+\.\d+\.\d+)/,
};

async function findServer(version: string | null, tools: MachineTools): Promise<HostServer> {
  const found = await findProgram(hostProgram, version, tools);
  return {
    version: found.version,
    program: found.program,
    init: async (place, { password }) => {
      await place.writeData(configName, `${settings(password).join('\n')}\n`);
      return null;
    },
    serve: (place, port) => {
      const file = join(place.data, configName);
      const socket = requireHost(redis).socket(place, port);
      const listening = (on: number): string[] => [
        ...[found.program, file, '--bind', '127.0.0.1', '--port', String(on), '--dir', place.data],
        ...(socket === null ? [] : ['--unixsocket', socket, '--unixsocketperm', '700']),
        ...['--daemonize', 'no'],
      ];
      return Promise.resolve({
        command: listening(port),
        // Port nought is none.
        ...(socket !== null && { behind: { socket, command: listening(0) } }),
        env: hostEnvironment(place, tools.path),
      });
    },
  };
}

/** redis-cli succeeds whatever Redis answers. Values are quoted, so only an error looks like an error. */
const failsOnError = `{ bad=0; while IFS= read -r line; do printf '%s\\n' "$line"; case "$line" in '(error)'*) bad=1;; esac; done; exit "$bad"; }`;

type RedisPlace = Pick<Server, 'host' | 'port' | 'socket' | 'password' | 'connect'>;

/**
 * A short exchange by RESP 2: a password, some commands, their one-line answers. Rejects with Redis's
 * error, with the error of the connection, or when it took too long.
 */
async function talkToRedis(
  server: RedisPlace,
  commands: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<string[]> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const socket = await connectionTo(server, inTime);
  addAbortSignal(inTime, socket).setEncoding('latin1');
  socket.write([['AUTH', server.password], ...commands].map(encoded).join(''));
  let text = '';
  // Leaving the loop ends the connection.
  for await (const chunk of socket as AsyncIterable<string>) {
    text += chunk;
    const lines = text.split('\r\n').slice(0, -1);
    const refused = lines.findIndex((line) => line.startsWith('-'));
    if (refused !== -1) throw new RedisRefusal(lines[refused]?.slice(1, 200) ?? '', refused > 0);
    if (lines.length > commands.length) return lines.slice(1);
    if (text.length > answerMaxBytes) throw new RedisRefusal('it is no Redis', false);
  }
  throw new Error('the connection was closed');
}

async function connectionTo(
  { host, port, socket: path, connect }: RedisPlace,
  signal: AbortSignal,
): Promise<Duplex> {
  try {
    if (path !== null) return await connect({ path }, signal);
  } catch (error) {
    // One that an earlier version of the service started has none until it is started again.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return connect({ host, port }, signal);
}

/** An error answer of Redis, such as `LOADING …`. */
class RedisRefusal extends ServerRefusal {
  override readonly name = 'RedisRefusal';
  /** Whether the password was right. */
  readonly signedIn: boolean;

  constructor(message: string, signedIn: boolean) {
    super(message);
    this.signedIn = signedIn;
  }
}

function encoded(words: readonly string[]): string {
  const parts = words.map((word) => `$${String(Buffer.byteLength(word))}\r\n${word}\r\n`);
  return `*${String(words.length)}\r\n${parts.join('')}`;
}

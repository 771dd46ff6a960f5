/** Owns connections to PostgreSQL as its administrator, and where its clients are. */
import type { Duplex } from 'node:stream';
import type { Client } from 'pg';

import { asSocket } from '../lib/connected-socket.ts';
import { ServiceError } from '../lib/errors.ts';
import { clientOf, sayable } from './client-program.ts';
import type { DatabaseTarget } from './targets.ts';

export const postgresAdmin = 'postgres';
const connectTimeoutMs = 10_000;
const hostFolder = '/usr/lib/postgresql';
/** Majors that are looked for, from the server's own on. */
const majorsAhead = 10;

/** Runs `work` over a connection of the administrator. Its failures are ServiceErrors of this code. */
export async function asPostgresAdmin<T>(
  target: DatabaseTarget,
  database: string,
  code: 'DUMP_FAILED' | 'RESTORE_FAILED',
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const pg = (await import('pg')).default;
  const stream = await streamTo(target).catch((error: unknown) => {
    throw postgresFailure(target, code, error);
  });
  const client = new pg.Client({
    ...(stream !== null && { stream: () => stream }),
    host: target.socket ?? target.host,
    port: target.port,
    user: postgresAdmin,
    password: target.adminPassword,
    database,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'gangway',
    // Keeps our own environment out.
    ssl: false,
    options: '',
  });
  client.on('error', () => undefined); // The calls reject with the same error.
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw postgresFailure(target, code, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Null: it is reached from here. */
async function streamTo({ connect, socket, port }: DatabaseTarget): Promise<Duplex | null> {
  if (connect === null || socket === null) return null;
  const opening = new AbortController();
  const late = setTimeout(() => {
    opening.abort(new ServiceError('AGENT_UNREACHABLE', 'The server took no connection in time.'));
  }, connectTimeoutMs);
  try {
    return asSocket(await connect(`${socket}/.s.PGSQL.${String(port)}`, opening.signal));
  } finally {
    clearTimeout(late);
  }
}

export function postgresFailure(
  target: DatabaseTarget,
  code: 'DUMP_FAILED' | 'RESTORE_FAILED',
  error: unknown,
): unknown {
  // Another error than of the server or its connection, such as the reason of a signal.
  if (error instanceof ServiceError || !(error instanceof Error) || !('code' in error))
    return error;
  const said = `PostgreSQL said: ${sayable(target, error.message)}`;
  return new ServiceError(code, said, { cause: error });
}

/** Quotes an identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** How a client reaches the database as its user, inside the sandbox. */
export function postgresEnvironment(
  { socket, ownPort, username, password }: DatabaseTarget,
  databaseName: string,
): Record<string, string> {
  return {
    PGHOST: socket ?? '127.0.0.1',
    PGPORT: String(ownPort),
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: databaseName,
    PGCONNECT_TIMEOUT: '10',
  };
}

/**
 * A client that fits the server: of its own major version, or else the next newer one, which reads older
 * servers. Null: there is none on this machine.
 */
export async function postgresClient(
  target: DatabaseTarget,
  name: 'pg_dump' | 'pg_restore',
): Promise<string | null> {
  const { tools, version } = target;
  if (tools === null) return clientOf(target, [name]);
  const major = Number.parseInt(version, 10);
  const inPath = await tools.find([name]);
  const newer = Array.from({ length: majorsAhead }, (_, i) => major + i);
  const candidates = newer.map((one) => `${hostFolder}/${String(one)}/bin/${name}`);
  for (const program of inPath === null ? candidates : [...candidates, inPath]) {
    const said = (await tools.ask(program, ['--version'])) ?? '';
    const found = Number(/\(PostgreSQL\) (\d+)/.exec(said)?.[1] ?? 0);
    if (found >= major) return program;
  }
  return null;
}

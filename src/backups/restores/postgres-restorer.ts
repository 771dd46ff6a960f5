/**
 * Owns the way back of a dump of PostgreSQL: into a database beside the live one, as its own user, who is no
 * superuser. When all is there the two change their names at once, in one transaction.
 *
 * 1. `pg_restore` only speaks SQL: nothing in a dump makes it run a program.
 * 2. What a dump says as the user reaches no further: the live database cannot be dropped meanwhile, and the user
 *    gets the password in force again.
 */
import { setTimeout } from 'node:timers/promises';

import type { Client } from 'pg';

import { ServiceError } from '../../lib/errors.ts';
import { scramVerifier } from '../../lib/scram.ts';
import type { PipeSpec } from '../../protocol/workload.ts';
import { feed } from '../client-program.ts';
import {
  asPostgresAdmin,
  postgresAdmin,
  postgresClient,
  postgresEnvironment,
  quoted,
} from '../postgres-client.ts';
import type { DatabaseTarget } from '../targets.ts';
import { Unsettled, untouched } from './failures.ts';
import type { Restorer } from './restorer.ts';

/** No database of a user has such a name. */
const incoming = 'gangway-incoming';
const outgoing = 'gangway-outgoing';
const endEveryMs = 50;
/** A session of the user may have changed its password and not have ended that. */
const lockWait = "SET lock_timeout = '30s'";

export function postgresDumpRestorer(target: DatabaseTarget): Restorer {
  return {
    async restore(bytes, log, signal) {
      try {
        const program = await postgresClient(target, 'pg_restore');
        if (program === null) {
          throw new ServiceError('ENGINE_NOT_AVAILABLE', 'There is no pg_restore for it here.');
        }
        log('A database is made beside the live one.');
        await asAdmin(target, (client) => makeIncoming(client, target));
        await ownsSchema(target);
        log('The dump is read into it.');
        const options = ['--no-owner', '--no-privileges', '--exit-on-error', '--no-password'];
        const command = [program, '--format=custom', ...options, `--dbname=${incoming}`];
        const env = postgresEnvironment(target, incoming);
        await readIn(target, { command, env }, bytes, signal);
        signal.throwIfAborted();
      } catch (error) {
        await asAdmin(target, (client) => drop(client, incoming)).catch(() => undefined);
        throw untouched(error);
      }
      log('It takes the place of the live one.');
      await exchangeOrNot(target);
      await target.control.replaced();
      // What is left of it, the next restore removes.
      await asAdmin(target, (client) => drop(client, outgoing)).catch(() =>
        log('The previous database could not be removed yet.'),
      );
    },
  };
}

/** See `Recover`. */
export function recoverPostgres(target: DatabaseTarget): Promise<'previous' | 'restored'> {
  return asAdmin(target, async (client) => {
    const state = await stateOf(client);
    if (state === 'restored') await target.control.replaced();
    // In this order what is left tells the same.
    for (const name of [outgoing, incoming]) await drop(client, name);
    await keepPassword(client, target);
    return state;
  });
}

async function readIn(
  target: DatabaseTarget,
  spec: PipeSpec,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  try {
    // Its owner drops no database to which an administrator is connected.
    await asPostgresAdmin(target, target.databaseName, 'RESTORE_FAILED', () =>
      feed(target, spec, bytes, signal),
    );
  } finally {
    await asAdmin(target, async (client) => {
      // A statement goes on when its client is gone, and may hold what comes next up for ever.
      await endSessions(client, incoming);
      await keepPassword(client, target);
    });
  }
}

async function keepPassword(client: Client, { username, password }: DatabaseTarget): Promise<void> {
  await client.query(lockWait);
  await client.query(`ALTER ROLE ${quoted(username)} PASSWORD '${scramVerifier(password)}'`);
}

async function exchangeOrNot(target: DatabaseTarget): Promise<void> {
  try {
    await asAdmin(target, (client) => exchange(client, target));
  } catch (error) {
    // The server may have ended with its answer.
    const state = await recoverPostgres(target).catch(() => {
      throw new Unsettled(error);
    });
    if (state === 'previous') throw untouched(error);
  }
}

/** Whose data is live. An exchange that is not over is waited for. */
async function stateOf(client: Client): Promise<'previous' | 'restored'> {
  await client.query('BEGIN; LOCK TABLE pg_database IN SHARE MODE');
  const statement = 'SELECT datname FROM pg_database WHERE datname IN ($1, $2)';
  const { rows } = await client.query<{ datname: string }>(statement, [incoming, outgoing]);
  await client.query('COMMIT');
  const names = new Set(rows.map(({ datname }) => datname));
  return names.has(outgoing) && !names.has(incoming) ? 'restored' : 'previous';
}

function asAdmin<T>(target: DatabaseTarget, work: (client: Client) => Promise<T>): Promise<T> {
  return asPostgresAdmin(target, postgresAdmin, 'RESTORE_FAILED', work);
}

async function makeIncoming(client: Client, { username }: DatabaseTarget): Promise<void> {
  for (const name of [outgoing, incoming]) await drop(client, name);
  const name = quoted(incoming);
  await client.query(`CREATE DATABASE ${name} OWNER ${quoted(username)} TEMPLATE template0`);
  await client.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
}

function ownsSchema(target: DatabaseTarget): Promise<unknown> {
  const statement = `ALTER SCHEMA public OWNER TO ${quoted(target.username)}`;
  return asPostgresAdmin(target, incoming, 'RESTORE_FAILED', (client) => client.query(statement));
}

/** All or nothing: a cut leaves both names as they were. */
async function exchange(client: Client, target: DatabaseTarget): Promise<void> {
  const { databaseName } = target;
  const renamed = new AbortController();
  // Whoever is connected keeps it from being renamed. While that waits, nobody else is let in.
  const ending = asAdmin(target, (other) => endOthers(other, databaseName, renamed.signal)).catch(
    () => undefined, // Then it is not renamed, which tells.
  );
  try {
    await client.query('BEGIN');
    await client.query(`ALTER DATABASE ${quoted(databaseName)} RENAME TO ${quoted(outgoing)}`);
    await client.query(`ALTER DATABASE ${quoted(incoming)} RENAME TO ${quoted(databaseName)}`);
    await client.query('COMMIT');
  } finally {
    renamed.abort();
    await ending;
  }
}

async function endOthers(client: Client, name: string, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await endSessions(client, name);
    await setTimeout(endEveryMs);
  }
}

async function endSessions(client: Client, name: string): Promise<void> {
  const statement =
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()';
  await client.query(statement, [name]);
}

async function drop(client: Client, name: string): Promise<void> {
  await client.query(`DROP DATABASE IF EXISTS ${quoted(name)} WITH (FORCE)`);
}

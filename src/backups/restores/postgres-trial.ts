/**
 * Owns a server of PostgreSQL for a while on files that are to take the place of the live ones: it replays their
 * log, so that they are known to be whole before the live server is stopped, and takes the password of today's
 * administrator.
 *
 * 1. It listens on a socket alone, in the folder of the live one's, which only the database's user and we may
 *    enter. There everybody is let in, since nobody knows the password of the files.
 */
import { setTimeout } from 'node:timers/promises';

import type { Pipe } from '../../drivers/driver.ts';
import { ServiceError } from '../../lib/errors.ts';
import { scramVerifier } from '../../lib/scram.ts';
import type { PipeEnd } from '../../protocol/workload.ts';
import { sayable } from '../client-program.ts';
import { asPostgresAdmin, postgresAdmin } from '../postgres-client.ts';
import type { DatabaseTarget } from '../targets.ts';

/** Of its socket's name: no live server has such a port. */
const port = 1;
const askEveryMs = 50;
/** Runs a server until its input ends. A program in the background has no input of its own. */
const untilInputEnds = `exec 3<&0
"$@" &
server=$!
{ cat <&3 > /dev/null; kill -INT $server; } &
wait $server`;
/** Of a server that starts. */
const notYet: ReadonlySet<unknown> = new Set(['57P03', 'ENOENT', 'ECONNREFUSED', 'ECONNRESET']);

export const trialRulesName = 'trial_hba.conf';
export const trialRules = 'local all all trust\n';

/**
 * `path`: of the files, which belong to the database's user already; `rules`: of a file that holds `trialRules`. Throws
 * RESTORE_FAILED.
 */
export async function tryPostgres(
  target: DatabaseTarget,
  { rules, path }: { rules: string; path: string },
  signal: AbortSignal,
): Promise<void> {
  const { server, socket } = target;
  if (server === null || socket === null) return;
  const options = {
    ...{ port, listen_addresses: '', unix_socket_directories: socket, hba_file: rules },
    ...{ autovacuum: 'off', log_line_prefix: '' },
  };
  const args = Object.entries(options).flatMap(([name, value]) => [
    '-c',
    `${name}=${String(value)}`,
  ]);
  const command = ['/bin/sh', '-c', untilInputEnds, 'sh', server, '-D', path, ...args];
  const over = Promise.withResolvers<undefined>();
  const pipe = await target.pipe({ command, env: {} }, endingWith(over.promise), signal);
  const ended = endOf(pipe);
  try {
    await takePassword({ ...target, port }, ended);
  } finally {
    over.resolve(undefined);
  }
  const { exitCode, complaint } = await ended;
  if (exitCode !== 0) throw notStarted(target, complaint);
}

/** Resolves when it has it, or is at its end. */
async function takePassword(target: DatabaseTarget, ended: Pipe['ended']): Promise<void> {
  const over = new AbortController();
  const abort = (): void => over.abort();
  const end = ended.then(abort, abort);
  const statement = `ALTER ROLE ${postgresAdmin} PASSWORD '${scramVerifier(target.adminPassword)}'`;
  while (!over.signal.aborted) {
    try {
      await asPostgresAdmin(target, postgresAdmin, 'RESTORE_FAILED', (client) =>
        client.query(statement),
      );
      return;
    } catch (error) {
      const { cause } = error as { cause?: { code?: unknown } };
      if (!notYet.has(cause?.code)) throw error;
    }
    await Promise.race([end, setTimeout(askEveryMs)]);
  }
}

async function endOf({ output, ended }: Pipe): Promise<PipeEnd> {
  const said = output[Symbol.asyncIterator](); // It says all on stderr.
  while ((await said.next()).done !== true);
  return await ended;
}

/** An input without a byte, whose end tells. */
function endingWith(over: Promise<undefined>): AsyncIterable<Uint8Array> {
  const next = async (): Promise<IteratorReturnResult<undefined>> => {
    await over;
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

function notStarted(target: DatabaseTarget, complaint: string): ServiceError {
  const lines = complaint.split('\n');
  const why = lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? complaint;
  const said = `PostgreSQL does not start from these files. It said: ${sayable(target, why)}`;
  return new ServiceError('RESTORE_FAILED', said);
}

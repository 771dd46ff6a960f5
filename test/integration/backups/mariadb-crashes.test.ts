/** What a restore of MariaDB leaves that is cut off, by the end of this process or of the server. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { text as textOfStream } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';

import { feed } from '../../../src/backups/client-program.ts';
import { mariadbClient } from '../../../src/backups/mariadb-client.ts';
import { Unsettled } from '../../../src/backups/restores/failures.ts';
import { mariadbRestorer, recoverMariadb } from '../../../src/backups/restores/mariadb-restorer.ts';
import { databaseSource } from '../../../src/backups/sources/database-sources.ts';
import type { DatabaseTarget } from '../../../src/backups/targets.ts';
import type { PipeEnd } from '../../../src/protocol/workload.ts';
import { collected, databaseServer, pieces } from '../../support/database-server.ts';
import type { DatabaseServer } from '../../support/database-server.ts';
import { eventually } from '../../support/eventually.ts';
import { type FoundProcess, processesOf } from '../../support/processes.ts';
import { needs } from '../../support/programs.ts';

const never = new AbortController().signal;

class Cut extends Error {}

describe('a restore of MariaDB that is cut off', { skip: needs('mariadbd', 'mariadb') }, () => {
  let server: DatabaseServer;
  let dump: Buffer;
  const admin = { program: '/usr/bin/mariadb', user: 'admin', database: null } as const;
  const own = { program: '/usr/bin/mariadb', user: 'own', database: 'shop' } as const;
  const told = async (as: typeof admin | typeof own, text: string): Promise<string> => {
    const spec = mariadbClient(server.target, as, ['--batch', '--skip-column-names']);
    return (await feed(near(), spec, pieces(Buffer.from(text)), never)).toString();
  };
  const near = (): DatabaseTarget => ({ ...server.target, pipe: directly });
  /** All that is live, and how it is stored. */
  const state = (): Promise<string> =>
    told(
      own,
      `SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = 'shop';
      SHOW FULL TABLES; SELECT * FROM teas; SELECT * FROM few; CALL pour(); SHOW EVENTS;
      SELECT trigger_name, action_statement FROM information_schema.triggers WHERE trigger_schema = 'shop';`,
    );
  const fill = (word: string): Promise<string> =>
    told(
      own,
      `DROP TABLE IF EXISTS ${word === 'old' ? 'new' : 'old'}_only; CREATE OR REPLACE TABLE ${word}_only (i INT);
      CREATE OR REPLACE TABLE teas (id INT PRIMARY KEY, name VARCHAR(40)); INSERT INTO teas VALUES (1, '${word} ü');
      CREATE OR REPLACE VIEW few AS SELECT name FROM teas;
      CREATE OR REPLACE TRIGGER told BEFORE INSERT ON teas FOR EACH ROW SET NEW.name = CONCAT('${word} ', NEW.name);
      CREATE OR REPLACE EVENT later ON SCHEDULE AT '2035-01-01 00:00:00' DO INSERT INTO teas VALUES (9, '${word}');
      CREATE OR REPLACE PROCEDURE pour() SELECT '${word}';`,
    );
  const states = { previous: '', restored: '' };

  /** What a client is fed; a dump is fed nothing. */
  const textOf = async (input: AsyncIterable<Uint8Array> | null): Promise<Buffer | null> =>
    input === null ? null : await collected(input);
  const fed = (text: Buffer | null): AsyncIterable<Uint8Array> | null =>
    text === null ? null : pieces(text);

  /** The server as a process sees it that ends behind its changes of this number, from the journal on. */
  const cutBehind = (at: number, first = -1): DatabaseTarget & { cut: boolean } => {
    let changes = first;
    const target = {
      ...server.target,
      cut: false,
      pipe: async (...[spec, input, signal]: Parameters<DatabaseTarget['pipe']>) => {
        const text = await textOf(input);
        const begun = changes >= 0 || text?.includes('CREATE DATABASE `gangway-exchange`') === true;
        if (begun && text?.toString('latin1').startsWith('SELECT') === false) changes += 1;
        target.cut ||= changes >= at;
        if (target.cut) throw new Cut();
        return await directly(spec, fed(text), signal);
      },
    };
    return target;
  };

  before(async () => {
    server = await databaseServer('MARIADB');
    await told(admin, 'ALTER DATABASE shop CHARACTER SET latin1 COLLATE latin1_german2_ci');
    await fill('new');
    states.restored = await state();
    dump = await collected((await databaseSource(server.target)).read(never));
    await fill('old');
    states.previous = await state();
  });
  after(() => server.close());

  const servers = (): FoundProcess[] =>
    processesOf(server.machine.dataDir).filter(({ command }) => /^\S*mariadbd /.test(command));
  const databases = (): Promise<string> => told(admin, "SHOW DATABASES LIKE 'gangway%'");

  // Two, each of which cuts off behind every other change: one alone takes minutes.
  const whole = async (first: number): Promise<void> => {
    const found = new Set<string>();
    let isCut = true;
    for (let at = first; isCut; at += 2) {
      const swap = { isReplaced: false };
      const target = cutBehind(at);
      const replaced = (): Promise<void> => {
        swap.isReplaced = true;
        return Promise.resolve();
      };
      target.control = { ...target.control, replaced };
      await mariadbRestorer(target)
        .restore(pieces(dump), () => undefined, never)
        .catch(() => undefined);
      isCut = target.cut;
      // Its recovery is cut off, too.
      if (at % 3 === 0) await recoverMariadb(cutBehind(at / 3, 0), never).catch(() => undefined);
      const now = await recoverMariadb(near(), never);
      const expected = swap.isReplaced ? 'restored' : now;
      found.add(expected);
      assert.equal(await state(), states[expected], `cut off at ${String(at)}`);
      assert.equal(await databases(), '', `cut off at ${String(at)}`);
      if (expected === 'restored') await fill('old');
      assert.equal(await state(), states.previous);
    }
    assert.deepEqual([...found], ['previous', 'restored']);
  };

  for (const first of [3, 4]) {
    it(`by the end of this process is the old data or the new, whole, from change ${String(first)} on`, () =>
      whole(first));
  }

  it('by the end of the server is settled when that is back', async () => {
    let killed = false;
    const target: DatabaseTarget = {
      ...server.target,
      pipe: async (spec, input, signal) => {
        const text = await textOf(input);
        if (!killed && text?.includes('RENAME TABLE `gangway-incoming`') === true) {
          killed = true;
          for (const { pid } of servers()) process.kill(pid, 'SIGKILL');
        }
        return await server.target.pipe(spec, fed(text), signal);
      },
    };
    const restoring = mariadbRestorer(target).restore(pieces(dump), () => undefined, never);
    await assert.rejects(restoring, Unsettled);
    await eventually('the server is back', () =>
      told(admin, 'SELECT 1').then(
        () => true,
        () => false,
      ),
    );
    assert.equal(await recoverMariadb(near(), never), 'previous');
    assert.equal(await state(), states.previous);
    assert.equal(await databases(), '');
  });

  it('while it waits for a table takes nothing any more when that is free', async () => {
    const pipe: DatabaseTarget['pipe'] = (...args) => server.target.pipe(...args);
    const holder = pieces(Buffer.from('LOCK TABLES teas READ; SELECT SLEEP(1000);\n'));
    const abort = new AbortController();
    const spec = mariadbClient(server.target, own, ['--unbuffered']);
    const holding = (await pipe(spec, holder, abort.signal)).ended.catch(() => undefined);
    const leave = new AbortController();
    const target: DatabaseTarget = {
      ...server.target,
      pipe: (given, input, signal) => pipe(given, input, AbortSignal.any([signal, leave.signal])),
    };
    const waits =
      "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata%'";
    await eventually('it is held', async () => (await told(admin, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(1000)'")) !== '0\n'); // prettier-ignore
    const restoring = mariadbRestorer(target).restore(pieces(dump), () => undefined, never);
    const failing = assert.rejects(restoring);
    await eventually('it waits', async () => (await told(admin, waits)) === '1\n');
    leave.abort(new Cut());
    await failing;
    assert.equal(await recoverMariadb(near(), never), 'previous');
    abort.abort();
    await holding;
    assert.equal(await told(admin, waits), '0\n');
    assert.equal(await state(), states.previous);
    assert.equal(await databases(), '');
  });
});

/** Beside its sandbox a client starts sooner, and here are many. */
const directly: DatabaseTarget['pipe'] = ({ command: [program = '', ...args], env }, input) => {
  const child = spawn(program, args, { env });
  const complaint = textOfStream(child.stderr);
  // Its server may end before it has read all.
  child.stdin.on('error', () => undefined);
  if (input === null) child.stdin.end();
  else Readable.from(input).pipe(child.stdin);
  const ended = new Promise<PipeEnd>((resolve) => {
    child.once('close', (code) => {
      void complaint.then((said) => resolve({ exitCode: code ?? 128, complaint: said }));
    });
  });
  return Promise.resolve({ output: child.stdout, ended });
};

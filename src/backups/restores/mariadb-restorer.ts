/**
 * Owns the way back of a dump of MariaDB or MySQL: into a database beside the live one, as its own user. When
 * all is there its tables take the place of the live ones, at once; views, routines, events and triggers
 * belong to their database and are made anew.
 *
 * 1. The client reads in binary mode, in which no command of its own (`\!`, `source`) is obeyed, and leaves
 *    out what is meant for another database.
 * 2. Until the exchange nothing of the live database is touched. A failing exchange is undone.
 */
import { clientOf, feed, outputOf } from '../client-program.ts';
import { type MariadbClient, mariadbClient } from '../mariadb-client.ts';
import type { DatabaseTarget } from '../targets.ts';
import { firstBytes } from './first-bytes.ts';
import { notPutBack, putBack, unfit, untouched } from './failures.ts';
import type { Restorer } from './restorer.ts';

/** No database of a user has such a name. */
const incoming = 'gangway-incoming';
const outgoing = 'gangway-outgoing';
/** Views, routines, events and triggers of one database. */
const extrasMaxBytes = 64 * 1024 * 1024;
const lookBytes = 4096;
/** For a while a client may hold a table. */
const lockWait = 'SET lock_wait_timeout = 30; SET foreign_key_checks = 0;';

export function mariadbRestorer(target: DatabaseTarget): Restorer {
  return {
    async restore(bytes, log, signal) {
      const server = await Databases.open(target, signal).catch((error: unknown) => {
        throw untouched(error);
      });
      let extras: { live: Buffer; next: Buffer };
      try {
        const { whole } = await checked(bytes);
        log('A database is made beside the live one.');
        await server.makeIncoming();
        log('The dump is read into it.');
        await server.load(incoming, whole, ['--one-database']);
        await server.mustHoldSomething();
        const live = await server.extrasOf(target.databaseName, true);
        extras = { live, next: await server.extrasOf(incoming) };
        signal.throwIfAborted();
      } catch (error) {
        await server.clear().catch(() => undefined);
        throw untouched(error);
      }
      log('It takes the place of the live one.');
      await exchange(server, extras);
      await server.clear().catch(() => log('The previous database could not be removed yet.'));
    },
  };
}

/** A restore that has come this far is not given up. */
async function exchange(
  server: Databases,
  { live, next }: { live: Buffer; next: Buffer },
): Promise<void> {
  try {
    await server.replace(outgoing, incoming, next);
  } catch (error) {
    try {
      await server.undo(live);
      await server.clear();
    } catch {
      throw notPutBack(error, `its tables are in the database ${outgoing}`);
    }
    throw putBack(error);
  }
}

async function checked(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ whole: AsyncIterable<Uint8Array> }> {
  const { first, whole } = await firstBytes(bytes, lookBytes);
  if (first.length === 0) throw unfit('The dump is empty.');
  // Text of SQL has none.
  if (first.includes(0)) throw unfit('This is no dump of SQL.');
  return { whole };
}

/** The live database, and those beside it for a while. */
class Databases {
  readonly #target: DatabaseTarget;
  readonly #programs: { client: string; dump: string };
  readonly #signal: AbortSignal;

  private constructor(
    target: DatabaseTarget,
    programs: { client: string; dump: string },
    signal: AbortSignal,
  ) {
    this.#target = target;
    this.#programs = programs;
    this.#signal = signal;
  }

  static async open(target: DatabaseTarget, signal: AbortSignal): Promise<Databases> {
    const isMysql = target.engine === 'MYSQL';
    const client = await clientOf(target, isMysql ? ['mysql'] : ['mariadb', 'mysql']);
    const dump = await clientOf(target, isMysql ? ['mysqldump'] : ['mariadb-dump', 'mysqldump']);
    return new Databases(target, { client, dump }, signal);
  }

  async makeIncoming(): Promise<void> {
    await this.clear();
    const made = [incoming, outgoing].map(
      (name) => `CREATE DATABASE \`${name}\` CHARACTER SET utf8mb4;`,
    );
    await this.#admin([...made, `GRANT ALL PRIVILEGES ON \`${incoming}\`.* TO ${this.#user};`]);
  }

  /** Reads SQL as the database's own user. */
  async load(
    database: string,
    bytes: AsyncIterable<Uint8Array>,
    more: readonly string[] = [],
    signal = this.#signal,
  ): Promise<void> {
    const as: MariadbClient = { program: this.#programs.client, user: 'own', database };
    const options = ['--binary-mode', '--default-character-set=utf8mb4', ...more];
    await feed(this.#target, mariadbClient(this.#target, as, options), bytes, signal);
  }

  /** A dump of several databases fills another one than it is read into. */
  async mustHoldSomething(): Promise<void> {
    const [tables, routines] = await Promise.all([
      this.#names(`SELECT HEX(table_name) FROM information_schema.tables WHERE table_schema = '${incoming}'`), // prettier-ignore
      this.#names(`SELECT HEX(routine_name) FROM information_schema.routines WHERE routine_schema = '${incoming}'`), // prettier-ignore
    ]);
    if (tables.length + routines.length > 0) return;
    throw unfit('There is nothing in the dump for this database.');
  }

  /**
   * What belongs to a database and moves with no table, as SQL. `skipsBroken`: without views that nobody could
   * make again, since what they show is gone.
   */
  async extrasOf(database: string, skipsBroken = false): Promise<Buffer> {
    const views = await this.#names(
      `SELECT HEX(table_name) FROM information_schema.views WHERE table_schema = '${database}'`,
    );
    const own = ['--no-data', '--no-create-info', '--routines', '--events', '--triggers'];
    const rest = await this.#dump(database, own, []);
    if (views.length === 0) return rest;
    const dumpViews = (names: readonly string[]): Promise<Buffer> =>
      this.#dump(database, ['--no-data', '--skip-triggers'], names);
    const all = dumpViews(views);
    if (!skipsBroken) return Buffer.concat([await all, rest]);
    const whole = await all.catch(async () => {
      const single: Buffer[] = [];
      for (const view of views) single.push(await dumpViews([view]).catch(() => Buffer.alloc(0)));
      return Buffer.concat(single);
    });
    return Buffer.concat([whole, rest]);
  }

  /** The live tables go to `aside`, those of `from` come in their place. */
  async replace(aside: string, from: string, extras: Buffer): Promise<void> {
    const { databaseName } = this.#target;
    const dropped = await Promise.all([databaseName, from].map((one) => this.#dropTriggers(one)));
    const away = await this.#moves(databaseName, aside);
    await this.#admin([lockWait, ...dropped.flat(), ...away]);
    const anew = await this.#anew();
    await this.#admin([lockWait, ...anew, ...(await this.#moves(from, databaseName))]);
    await this.load(databaseName, once(extras), [], never);
  }

  async undo(extras: Buffer): Promise<void> {
    const { databaseName } = this.#target;
    const isMoved = (await this.#tables(outgoing)).length > 0;
    if (isMoved) {
      // Those of the dump that came already: nothing is lost with them.
      const come = await this.#tables(databaseName);
      const drops = come.map((name) => `DROP TABLE \`${databaseName}\`.${quoted(name)};`);
      const back = await this.#moves(outgoing, databaseName);
      await this.#admin([lockWait, ...drops, ...(await this.#anew()), ...back]);
    }
    await this.load(databaseName, once(extras), [], never);
  }

  async clear(): Promise<void> {
    const drops = [incoming, outgoing].map((name) => `DROP DATABASE IF EXISTS \`${name}\`;`);
    await this.#admin([lockWait, ...drops]);
    // There may be none.
    await this.#admin([`REVOKE ALL PRIVILEGES ON \`${incoming}\`.* FROM ${this.#user};`]).catch(
      () => undefined,
    );
  }

  /** Drops the live database with what is left in it, and makes it again with its character set. */
  async #anew(): Promise<string[]> {
    const { databaseName } = this.#target;
    const [set = 'utf8mb4', collation = 'utf8mb4_general_ci'] = (
      await this.#ask(
        `SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = '${databaseName}'`,
      )
    ).split(/\s+/);
    return [
      `DROP DATABASE IF EXISTS \`${databaseName}\`;`,
      `CREATE DATABASE \`${databaseName}\` CHARACTER SET ${set} COLLATE ${collation};`,
    ];
  }

  async #moves(from: string, to: string): Promise<string[]> {
    const names = await this.#tables(from);
    if (names.length === 0) return [];
    const moves = names.map((name) => `\`${from}\`.${quoted(name)} TO \`${to}\`.${quoted(name)}`);
    return [`RENAME TABLE ${moves.join(', ')};`];
  }

  async #dropTriggers(database: string): Promise<string[]> {
    const names = await this.#names(
      `SELECT HEX(trigger_name) FROM information_schema.triggers WHERE trigger_schema = '${database}'`,
    );
    return names.map((name) => `DROP TRIGGER \`${database}\`.${quoted(name)};`);
  }

  #tables(database: string): Promise<string[]> {
    return this.#names(
      `SELECT HEX(table_name) FROM information_schema.tables WHERE table_schema = '${database}' AND table_type <> 'VIEW'`,
    );
  }

  async #names(statement: string): Promise<string[]> {
    const lines = (await this.#ask(statement)).split('\n').filter((line) => line !== '');
    return lines.map((line) => Buffer.from(line, 'hex').toString('utf8'));
  }

  async #ask(statement: string): Promise<string> {
    const { client } = this.#programs;
    const as: MariadbClient = { program: client, user: 'admin', database: null };
    const options = ['--batch', '--skip-column-names', '--default-character-set=utf8mb4'];
    const spec = mariadbClient(this.#target, as, options);
    const text = once(Buffer.from(`${statement};\n`));
    return (await feed(this.#target, spec, text, never, extrasMaxBytes)).toString('utf8');
  }

  async #admin(statements: readonly string[]): Promise<void> {
    await this.#ask(statements.join('\n').replace(/;$/, ''));
  }

  async #dump(
    database: string,
    options: readonly string[],
    names: readonly string[],
  ): Promise<Buffer> {
    const as: MariadbClient = { program: this.#programs.dump, user: 'own', database };
    const more = ['--no-tablespaces', '--single-transaction'];
    const spec = mariadbClient(this.#target, as, [...options, ...more]);
    const command = [...spec.command, ...names];
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const bytes of outputOf(this.#target, { ...spec, command }, this.#signal)) {
      length += bytes.length;
      if (length > extrasMaxBytes) throw unfit('Its views and routines are too large.');
      chunks.push(bytes);
    }
    return Buffer.concat(chunks);
  }

  get #user(): string {
    return `'${this.#target.username}'@'%'`;
  }
}

const never = new AbortController().signal;

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

async function* once(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
  await Promise.resolve();
}

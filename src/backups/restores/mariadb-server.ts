/** Owns what a restore tells a server of MariaDB or MySQL, through the clients in its sandbox. */
import { nativeHash } from '../../lib/native-password.ts';
import { once } from '../../lib/once.ts';
import { clientOf, feed, outputOf } from '../client-program.ts';
import { type MariadbClient, mariadbClient } from '../mariadb-client.ts';
import type { DatabaseTarget } from '../targets.ts';
import { unfit } from './failures.ts';

/** No database of a user has such a name. */
export const incoming = 'gangway-incoming';
export const outgoing = 'gangway-outgoing';
/** Views, routines, events and triggers of one database. */
export const extrasMaxBytes = 64 * 1024 * 1024;
/** For a while a client may hold a table. */
const lockWait = 'SET lock_wait_timeout = 30; SET foreign_key_checks = 0;';

export class MariadbServer {
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

  /** `signal` ends reading, and nothing that changes the live database. */
  static async open(target: DatabaseTarget, signal: AbortSignal): Promise<MariadbServer> {
    const isMysql = target.engine === 'MYSQL';
    const client = await clientOf(target, isMysql ? ['mysql'] : ['mariadb', 'mysql']);
    const dump = await clientOf(target, isMysql ? ['mysqldump'] : ['mariadb-dump', 'mysqldump']);
    return new MariadbServer(target, { client, dump }, signal);
  }

  async makeIncoming(): Promise<void> {
    const made = [incoming, outgoing].map(
      (name) => `CREATE DATABASE \`${name}\` CHARACTER SET utf8mb4;`,
    );
    await this.change([...made, `GRANT ALL PRIVILEGES ON \`${incoming}\`.* TO ${this.#user};`]);
  }

  /** A dump may have given its user another password than the one in force. */
  async keepPassword(): Promise<void> {
    const { engine, password } = this.#target;
    const by =
      engine === 'MARIADB' ? `PASSWORD '${nativeHash(password)}'` : `'${escaped(password)}'`;
    await this.change([`ALTER USER ${this.#user} IDENTIFIED BY ${by};`]);
  }

  async dropBeside(): Promise<void> {
    const drops = [incoming, outgoing].map((name) => `DROP DATABASE IF EXISTS \`${name}\`;`);
    await this.change(drops);
    // There may be none.
    await this.change([`REVOKE ALL PRIVILEGES ON \`${incoming}\`.* FROM ${this.#user};`]).catch(
      () => undefined,
    );
  }

  /** Reads SQL as the database's own user. */
  async load(
    database: string,
    bytes: AsyncIterable<Uint8Array>,
    more: readonly string[] = [],
    signal = this.#signal,
  ): Promise<void> {
    const as: MariadbClient = { program: this.#programs.client, user: 'own', database };
    // A dump reads no files of the client either.
    const safe = ['--binary-mode', '--local-infile=0'];
    const options = [...safe, '--default-character-set=utf8mb4', ...more];
    await feed(this.#target, mariadbClient(this.#target, as, options), bytes, signal);
  }

  /** Makes again what `extrasOf` gave; twice is fine. */
  loadExtras(database: string, extras: Buffer): Promise<void> {
    const patient = Buffer.from('SET lock_wait_timeout = 30;\n');
    return this.load(database, once(Buffer.concat([patient, extras])), [], never);
  }

  /** A dump of several databases fills another one than it is read into. */
  async mustHoldSomething(): Promise<void> {
    const [tables, routines] = await Promise.all([
      this.names(`SELECT HEX(table_name) FROM information_schema.tables WHERE table_schema = '${incoming}'`), // prettier-ignore
      this.names(`SELECT HEX(routine_name) FROM information_schema.routines WHERE routine_schema = '${incoming}'`), // prettier-ignore
    ]);
    if (tables.length + routines.length > 0) return;
    throw unfit('There is nothing in the dump for this database.');
  }

  /**
   * What belongs to a database and moves with no table, as SQL. `skipsBroken`: without views that nobody could
   * make again, since what they show is gone.
   */
  async extrasOf(database: string, skipsBroken = false): Promise<Buffer> {
    const views = await this.names(
      `SELECT HEX(table_name) FROM information_schema.views WHERE table_schema = '${database}'`,
    );
    const own = ['--no-data', '--no-create-info', '--routines', '--events', '--triggers'];
    const rest = await this.#dump(database, [...own, '--add-drop-trigger'], []);
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

  /** Moves all tables at once. */
  async moveTables(from: string, to: string): Promise<void> {
    const names = await this.#tables(from);
    if (names.length === 0) return;
    const moves = names.map((name) => `\`${from}\`.${quoted(name)} TO \`${to}\`.${quoted(name)}`);
    await this.change([`RENAME TABLE ${moves.join(', ')};`]);
  }

  async dropTriggers(database: string): Promise<void> {
    const names = await this.names(
      `SELECT HEX(trigger_name) FROM information_schema.triggers WHERE trigger_schema = '${database}'`,
    );
    await this.change(names.map((name) => `DROP TRIGGER \`${database}\`.${quoted(name)};`));
  }

  /** Drops a database with all that is in it, and makes it again, as `CREATE DATABASE` takes its `charset`. */
  makeAnew(database: string, charset: string): Promise<void> {
    return this.change([
      `DROP DATABASE IF EXISTS \`${database}\`;`,
      `CREATE DATABASE \`${database}\` ${charset};`,
    ]);
  }

  async charsetOf(database: string): Promise<string> {
    const [set = 'utf8mb4', collation = 'utf8mb4_general_ci'] = (
      await this.ask(
        `SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = '${database}'`,
      )
    ).split(/\s+/);
    return `CHARACTER SET ${set} COLLATE ${collation}`;
  }

  async hasDatabase(name: string): Promise<boolean> {
    const sql = `SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '${name}'`;
    return (await this.ask(sql)).trim() !== '0';
  }

  /** Ends all connections there are: a statement goes on when its client is gone. Resolves when they are over. */
  async endOthers(): Promise<void> {
    const users = `user IN ('root', '${this.#target.username}')`;
    const newest = Number(await this.ask('SELECT CONNECTION_ID()'));
    const others = `SELECT id FROM information_schema.processlist WHERE ${users} AND id < ${String(newest)}`;
    while (await this.#end(others)) this.#signal.throwIfAborted();
  }

  /** Ends what a dump that was given up still does in the incoming database: it would hold that for ever. */
  async endIncoming(): Promise<void> {
    await this.#end(`SELECT id FROM information_schema.processlist WHERE db = '${incoming}'`);
  }

  /** Whether there were any. */
  async #end(connections: string): Promise<boolean> {
    const ids = (await this.ask(connections)).split('\n').filter((line) => line !== '');
    // One that ended meanwhile is an error.
    for (const id of ids) await this.ask(`KILL ${id}`).catch(() => undefined);
    return ids.length > 0;
  }

  /** Reads a name in hex from each line. */
  async names(statement: string): Promise<string[]> {
    const lines = (await this.ask(statement)).split('\n').filter((line) => line !== '');
    return lines.map((line) => Buffer.from(line, 'hex').toString('utf8'));
  }

  /** What the administrator is answered, in lines. */
  ask(statement: string): Promise<string> {
    return this.tell(once(Buffer.from(`${statement};\n`)));
  }

  async change(statements: readonly string[]): Promise<void> {
    if (statements.length > 0)
      await this.ask([lockWait, ...statements].join('\n').replace(/;$/, ''));
  }

  /** Runs the administrator's statements, which may be long. */
  async tell(statements: AsyncIterable<Uint8Array>): Promise<string> {
    const { client } = this.#programs;
    const as: MariadbClient = { program: client, user: 'admin', database: null };
    const options = ['--batch', '--skip-column-names', '--default-character-set=utf8mb4'];
    const spec = mariadbClient(this.#target, as, options);
    // In hex.
    const maxBytes = 3 * extrasMaxBytes;
    return (await feed(this.#target, spec, statements, never, maxBytes)).toString('utf8');
  }

  #tables(database: string): Promise<string[]> {
    return this.names(
      `SELECT HEX(table_name) FROM information_schema.tables WHERE table_schema = '${database}' AND table_type <> 'VIEW'`,
    );
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

function escaped(text: string): string {
  return text.replaceAll(/['\\]/g, '\\$&');
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

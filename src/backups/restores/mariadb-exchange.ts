/**
 * Owns the exchange of the live tables of MariaDB or MySQL with those beside them, and its way back behind a
 * crash of whatever takes part. The server itself keeps how far it came, in a database of ours.
 *
 * 1. `aside`: tables of the live database are the previous ones; the rest of them is in the outgoing one.
 * 2. `come`: all previous tables are in the outgoing database; those of the live one are of the dump.
 * 3. `done`: the live database is that of the dump.
 * 4. A step is kept before what it allows is done. What moves with no table is kept as text before the first.
 */
import { extrasMaxBytes, incoming, type MariadbServer, outgoing } from './mariadb-server.ts';

/** No database of a user has such a name. */
const journal = 'gangway-exchange';
/** Of a statement, in bytes: servers take 16 MiB at least, and these are in hex. */
const partBytes = 1024 * 1024;

type Step = 'aside' | 'come' | 'done';

export class MariadbExchange {
  readonly #server: MariadbServer;
  readonly #live: string;
  /** Of the dump. */
  #extras: Buffer = Buffer.alloc(0);
  #charset = '';

  constructor(server: MariadbServer, databaseName: string) {
    this.#server = server;
    this.#live = databaseName;
  }

  /** Keeps what is needed to come back. Nothing of the live database is touched. */
  async prepare(): Promise<void> {
    const server = this.#server;
    const previous = await server.extrasOf(this.#live, true);
    this.#extras = await server.extrasOf(incoming);
    this.#charset = await server.charsetOf(this.#live);
    await server.change([
      `DROP DATABASE IF EXISTS \`${journal}\`;`,
      `CREATE DATABASE \`${journal}\` CHARACTER SET utf8mb4;`,
      `CREATE TABLE \`${journal}\`.extras (part INT PRIMARY KEY, text LONGBLOB) ENGINE = InnoDB;`,
      `CREATE TABLE \`${journal}\`.state (id INT PRIMARY KEY, step VARCHAR(10), charset VARCHAR(200)) ENGINE = InnoDB;`,
    ]);
    await server.tell(inserts(previous));
  }

  /** After `prepare`. When it rejects, `recover` is to be called. */
  async run(): Promise<void> {
    const [server, live] = [this.#server, this.#live];
    await this.#keep('aside');
    for (const database of [live, incoming]) await server.dropTriggers(database);
    await server.moveTables(live, outgoing);
    await this.#keep('come');
    await server.makeAnew(live, this.#charset);
    await server.moveTables(incoming, live);
    await server.loadExtras(live, this.#extras);
    await this.#keep('done');
  }

  /**
   * Unless an exchange that was cut off is done, the previous tables come back, and all connections are ended.
   * Tells which are live. What is beside them stays until `clear`, and tells the same again.
   */
  async recover(): Promise<'previous' | 'restored'> {
    const found = await this.#find();
    if (found?.step === 'done') return 'restored';
    if (found !== null) await this.#undo(found);
    return 'previous';
  }

  /** Removes all that is beside the live database. */
  async clear(): Promise<void> {
    await this.#server.dropBeside();
    // It tells what the others are.
    await this.#server.change([`DROP DATABASE IF EXISTS \`${journal}\`;`]);
  }

  async #undo({ step, charset }: { step: Step; charset: string }): Promise<void> {
    const [server, live] = [this.#server, this.#live];
    await server.endOthers();
    const extras = await this.#extrasKept();
    if (step === 'come') {
      this.#charset = charset;
      await server.makeAnew(live, charset);
      await this.#keep('aside');
    }
    await server.moveTables(outgoing, live);
    await server.loadExtras(live, extras);
  }

  #keep(step: Step): Promise<void> {
    const row = `(1, '${step}', '${this.#charset}')`;
    return this.#server.change([`REPLACE INTO \`${journal}\`.state VALUES ${row};`]);
  }

  /** Null: there is none. */
  async #find(): Promise<{ step: Step; charset: string } | null> {
    const server = this.#server;
    const tables = `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '${journal}' AND table_name = 'state'`;
    if ((await server.ask(tables)).trim() === '0') return null;
    const row = (await server.ask(`SELECT step, charset FROM \`${journal}\`.state`)).trim();
    const [step = '', charset = ''] = row.split('\t');
    return step === '' ? null : { step: step as Step, charset };
  }

  async #extrasKept(): Promise<Buffer> {
    const hex = await this.#server.ask(`SELECT HEX(text) FROM \`${journal}\`.extras ORDER BY part`);
    const extras = Buffer.from(hex.replaceAll('\n', ''), 'hex');
    if (extras.length > extrasMaxBytes) throw new Error('Cannot undo: too much was kept');
    return extras;
  }
}

async function* inserts(extras: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0, part = 0; at < extras.length; at += partBytes, part++) {
    const hex = extras.subarray(at, at + partBytes).toString('hex');
    yield Buffer.from(`INSERT INTO \`${journal}\`.extras VALUES (${String(part)}, x'${hex}');\n`);
    await Promise.resolve();
  }
}

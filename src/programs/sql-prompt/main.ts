/**
 * Owns the SQL prompt: a small client of PostgreSQL for machines without psql. It runs as a program of its
 * own on a terminal, in the sandbox of the database. PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE say
 * where and as whom it connects. With `--statement` it runs the text in SQL_STATEMENT, and exits with 1
 * when that failed.
 *
 * 1. A statement ends with a semicolon, and may take several lines.
 * 2. The output is bounded: rows beyond the limit are counted, not kept.
 */
import { createInterface } from 'node:readline';
import pg from 'pg';
import { commandQuery, helpText } from './commands.ts';
import { StatementReader } from './statements.ts';
import { type Column, expandedText, tableText } from './tables.ts';

const rowsMax = 10_000;
/** int2, int4, int8, float4, float8, numeric, oid. */
const numberTypes: ReadonlySet<number> = new Set([21, 23, 20, 700, 701, 1700, 26]);

type Row = (string | null)[];

/** Keeps values as the server writes them. */
const asText = { getTypeParser: () => (value: unknown) => value };

class Session {
  readonly #client: pg.Client;
  #expanded = false;
  #pid = 0;
  isBusy = false;

  constructor() {
    this.#client = newClient();
    this.#client.on('error', (error) => {
      write(`\n${error.message}\n`);
      process.exit(2);
    });
    this.#client.on('notice', ({ severity = 'NOTICE', message = '' }) => {
      write(`${severity}:  ${message}\n`);
    });
  }

  async open(): Promise<void> {
    await this.#client.connect();
    const { rows } = await this.#client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    this.#pid = rows[0]?.pid ?? 0;
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  toggleExpanded(): boolean {
    this.#expanded = !this.#expanded;
    return this.#expanded;
  }

  /** Asks the server to cancel the running statement, over a connection of its own. */
  async cancel(): Promise<void> {
    const other = newClient();
    try {
      await other.connect();
      await other.query('SELECT pg_cancel_backend($1)', [this.#pid]);
    } catch (error) {
      write(errorText(error, ''));
    } finally {
      await other.end().catch(() => undefined);
    }
  }

  /** Shows the result. Returns whether the statement succeeded. */
  async run(text: string, values: readonly string[] = []): Promise<boolean> {
    this.isBusy = true;
    try {
      write(await this.#ask(text, values));
      return true;
    } catch (error) {
      write(errorText(error, text));
      return false;
    } finally {
      this.isBusy = false;
    }
  }

  #ask(text: string, values: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const query = new pg.Query({
        text,
        ...(values.length > 0 && { values: [...values] }),
        rowMode: 'array',
        types: asText,
      } as unknown as pg.QueryArrayConfig);
      const rows: Row[] = [];
      let dropped = 0;
      query.on('row', (row: unknown) => {
        if (rows.length < rowsMax) rows.push(row as Row);
        else dropped += 1;
      });
      query.on('error', reject);
      query.on('end', (result: pg.QueryArrayResult) => {
        resolve(this.#shown(result, rows, dropped));
      });
      this.#client.query(query);
    });
  }

  #shown(result: pg.QueryArrayResult, rows: readonly Row[], dropped: number): string {
    const { fields, command, rowCount } = result;
    if (fields.length === 0) {
      const counts = ['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'COPY'].includes(command);
      const zero = command === 'INSERT' ? ' 0' : '';
      return `${command}${counts ? `${zero} ${String(rowCount ?? 0)}` : ''}\n`;
    }
    const columns = fields.map(({ name, dataTypeID }): Column => ({
      name,
      isNumber: numberTypes.has(dataTypeID),
    }));
    const text = (this.#expanded ? expandedText : tableText)(columns, rows);
    return dropped === 0 ? text : `${text}(${String(dropped)} more are not shown)\n`;
  }
}

function newClient(): pg.Client {
  // pg reads the PG variables itself.
  return new pg.Client({ connectionTimeoutMillis: 10_000, application_name: 'sql-prompt' });
}

function write(text: string): void {
  process.stdout.write(text);
}

interface ServerError {
  severity?: string;
  message: string;
  detail?: string;
  hint?: string;
  position?: string;
}

function errorText(thrown: unknown, statement: string): string {
  const { severity = 'ERROR', message, detail, hint, position } = thrown as ServerError;
  const lines = [`${severity}:  ${message}`];
  if (position !== undefined) lines.push(...placeText(statement, Number(position) - 1));
  if (detail !== undefined) lines.push(`DETAIL:  ${detail}`);
  if (hint !== undefined) lines.push(`HINT:  ${hint}`);
  return `${lines.join('\n')}\n`;
}

function placeText(statement: string, at: number): string[] {
  const before = statement.slice(0, at).split('\n');
  const line = statement.split('\n')[before.length - 1] ?? '';
  const lead = `LINE ${String(before.length)}: `;
  return [`${lead}${line}`, `${' '.repeat(lead.length + (before.at(-1) ?? '').length)}^`];
}

async function runOnce(session: Session, text: string): Promise<boolean> {
  const reader = new StatementReader();
  const [first = ''] = text.trim().split('\n');
  if (first.startsWith('\\')) return (await runCommand(session, first)) !== 'failed';
  const statements = [...reader.push(text), reader.flush()].filter((one) => one !== '');
  for (const statement of statements) if (!(await session.run(statement))) return false;
  return true;
}

async function runCommand(session: Session, line: string): Promise<'done' | 'failed' | 'quit'> {
  const [name = '', argument] = line.trim().split(/\s+/);
  switch (name) {
    case '\\q':
      return 'quit';
    case '\\?':
      write(helpText);
      return 'done';
    case '\\x':
      write(`Expanded display is ${session.toggleExpanded() ? 'on' : 'off'}.\n`);
      return 'done';
    default: {
      const query = commandQuery(name, argument);
      if (query === null) {
        write(`invalid command ${name}\nTry \\? for help.\n`);
        return 'failed';
      }
      return (await session.run(query.text, query.values)) ? 'done' : 'failed';
    }
  }
}

/** Reads lines until `\q`, the end of the input, or the end of the connection. */
async function converse(session: Session): Promise<void> {
  const database = process.env['PGDATABASE'] ?? '';
  const reader = new StatementReader();
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: process.stdin.isTTY,
    historySize: 500,
  });
  const prompt = (): void => {
    lines.setPrompt(reader.isPending ? `${database}${reader.mark}> ` : `${database}=> `);
    lines.prompt();
  };
  write('SQL prompt. Statements end with ";", \\? shows what else there is, \\q leaves.\n');
  prompt();
  lines.on('SIGINT', () => {
    if (session.isBusy) {
      void session.cancel();
      return;
    }
    reader.flush();
    write('^C\n');
    lines.write(null, { ctrl: true, name: 'u' });
    prompt();
  });
  for await (const line of lines) {
    if (!(await takeLine(session, reader, line))) break;
    prompt();
  }
  lines.close();
}

/** Returns whether the prompt continues. */
async function takeLine(session: Session, reader: StatementReader, line: string): Promise<boolean> {
  if (!reader.isPending && line.trim().startsWith('\\')) {
    return (await runCommand(session, line)) !== 'quit';
  }
  for (const statement of reader.push(line)) await session.run(statement);
  return true;
}

async function main(): Promise<void> {
  const session = new Session();
  try {
    await session.open();
  } catch (error) {
    write(errorText(error, ''));
    process.exitCode = 2;
    return;
  }
  if (process.argv.includes('--statement')) {
    const succeeded = await runOnce(session, process.env['SQL_STATEMENT'] ?? '');
    process.exitCode = succeeded ? 0 : 1;
  } else {
    await converse(session);
  }
  await session.close();
}

await main();

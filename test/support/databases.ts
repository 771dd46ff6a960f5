/** Databases of a whole Gangway, as a client of its API and as a client of their own. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import pg from 'pg';
import type { Gangway } from './gangway.ts';
import { until } from './gangway.ts';

export interface DatabaseInfo {
  id: string;
  name: string;
  engine: string;
  status: string;
  error: string | null;
  version: string;
  folderId: string | null;
  connectionStringMasked: string;
}

const fields = 'id name engine status error version folderId connectionStringMasked';
const readyMs = 90_000;

export class Databases {
  readonly #gangway: Gangway;

  constructor(gangway: Gangway) {
    this.#gangway = gangway;
  }

  /** `input` is a CreateDatabaseInput; by default a PostgreSQL. */
  async create(input: Record<string, unknown> = {}): Promise<DatabaseInfo> {
    const { createDatabase } = await this.#gangway.client.must<{ createDatabase: DatabaseInfo }>(
      `mutation($input: CreateDatabaseInput!) { createDatabase(input: $input) { ${fields} } }`,
      { input: { name: 'Data', engine: 'POSTGRES', ...input } },
    );
    return createDatabase;
  }

  /** One that answers. */
  async running(input: Record<string, unknown> = {}): Promise<DatabaseInfo> {
    const { id } = await this.create(input);
    await this.becomes(id, 'running');
    return await this.mustSee(id);
  }

  async see(id: string): Promise<DatabaseInfo | null> {
    const { database } = await this.#gangway.client.must<{ database: DatabaseInfo | null }>(
      `query($id: ID!) { database(id: $id) { ${fields} } }`,
      { id },
    );
    return database;
  }

  async mustSee(id: string): Promise<DatabaseInfo> {
    const database = await this.see(id);
    assert.ok(database, 'the database is there');
    return database;
  }

  /** Fails at once when it is in error, unless that is what is waited for. */
  async becomes(id: string, status: string): Promise<void> {
    await until(`the database is ${status}`, readyMs, async () => {
      const database = await this.mustSee(id);
      if (status !== 'error') assert.equal(database.error, null);
      return database.status === status;
    });
  }

  async reveal(id: string): Promise<string> {
    const { revealConnection } = await this.#gangway.client.must<{ revealConnection: string }>(
      'mutation($id: ID!) { revealConnection(id: $id) }',
      { id },
    );
    return revealConnection;
  }

  async rotate(id: string): Promise<string> {
    const { rotateDatabasePassword } = await this.#gangway.client.must<{
      rotateDatabasePassword: string;
    }>('mutation($id: ID!) { rotateDatabasePassword(id: $id) }', { id });
    return rotateDatabasePassword;
  }

  async setRunning(id: string, running: boolean): Promise<DatabaseInfo> {
    const { setDatabaseRunning } = await this.#gangway.client.must<{
      setDatabaseRunning: DatabaseInfo;
    }>(
      `mutation($id: ID!, $running: Boolean!) { setDatabaseRunning(id: $id, running: $running) { ${fields} } }`,
      { id, running },
    );
    return setDatabaseRunning;
  }

  async delete(id: string): Promise<void> {
    await this.#gangway.client.must('mutation($id: ID!) { deleteDatabase(id: $id, force: true) }', {
      id,
    });
  }

  /** Its log, as far as it is read at once. */
  async log(id: string): Promise<string> {
    const { logs } = await this.#gangway.client.must<{ logs: { nodes: { text: string }[] } }>(
      'query($id: ID!) { logs(databaseId: $id, tail: 1000) { nodes { text } } }',
      { id },
    );
    return logs.nodes.map(({ text }) => text).join('\n');
  }

  async purge(id: string): Promise<void> {
    await this.#gangway.client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id });
  }

  /** Runs a statement in the database's own console. */
  async exec(databaseId: string, command: string): Promise<{ output: string; exitCode: number }> {
    const { execDatabaseConsole } = await this.#gangway.client.must<{
      execDatabaseConsole: { output: string; exitCode: number };
    }>(
      'mutation($databaseId: ID!, $command: String!) { execDatabaseConsole(databaseId: $databaseId, command: $command) { output exitCode truncated } }',
      { databaseId, command },
    );
    return execDatabaseConsole;
  }
}

/** Rows of a query, by a client of PostgreSQL. */
export async function rowsOf(url: string, ...statements: string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  let rows: unknown[] = [];
  try {
    await client.connect();
    for (const statement of statements) rows = (await client.query(statement)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
  return rows;
}

/** What MariaDB's own client says to a statement. */
export function runMariadb(url: string, statement: string): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const place = ['--no-defaults', '--protocol=tcp', `--host=${hostname}`, `--port=${port}`];
  const args = [...place, `--user=${username}`, pathname.slice(1), '--batch', '-e', statement];
  return run('mariadb', args, { MYSQL_PWD: decodeURIComponent(password) });
}

/** Whatever a person may type: it stands in addresses, statements, shells and configuration files. */
export const oddPassword = `a"b'c\\d$e\`f%g@h:i/j?k#l &m;n*o`;

/** Whether nobody gets in by this address. */
export async function refuses(url: string): Promise<boolean> {
  return rowsOf(url, 'SELECT 1').then(
    () => false,
    () => true,
  );
}

/** What a program says; rejects when it fails. */
export function run(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const all = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env };
    execFile(program, [...args], { env: all, timeout: 30_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program}: ${stdout}${stderr}`, { cause: error }));
    });
  });
}

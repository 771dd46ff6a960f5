/**
 * Owns a base backup of PostgreSQL: its files as tar while it runs, as its manual describes for a low-level
 * backup, and the log that makes them whole. Unpacked into an empty folder, a server of the same major
 * version starts from it.
 *
 * 1. The log since the start is held by a slot that goes with the connection, however long this takes.
 * 2. No server starts from a part: `backup_label` and `global/pg_control` come last, when all the rest is in it.
 */
import type { Client } from 'pg';

import { asPostgresAdmin, postgresAdmin, postgresFailure } from '../postgres-client.ts';
import { paddingOf, tarEnd, tarHeaders } from '../tar/tar-header.ts';
import { inBlocks, textEntry, zeros } from '../tar/tar-tree.ts';
import type { DatabaseTarget, ReadFolder } from '../targets.ts';

/** Of a file that the server reads for us. */
const pieceBytes = 512 * 1024;
/** What is the server's own of this moment, or made anew; the folders stay. */
export const leftOut =
  /^(?:(?:pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/.|postmaster\.(?:pid|opts)$|backup_label|tablespace_map|global\/pg_control$)|(?:^|\/)(?:pgsql_tmp|pg_internal\.init)/;

export async function* postgresFiles(
  target: DatabaseTarget,
  read: ReadFolder,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const session = await Session.open(target);
  try {
    const from = await session.begin();
    yield* read('./', signal);
    yield* inBlocks(endOf(session, await session.finish(from)));
  } catch (error) {
    throw postgresFailure(target, 'DUMP_FAILED', error);
  } finally {
    session.close();
  }
}

async function* endOf(session: Session, { segments, label }: Finished): AsyncGenerator<Uint8Array> {
  for (const name of segments) yield* fileIn(session, `pg_wal/${name}`);
  yield* fileIn(session, 'global/pg_control');
  yield* textEntry('./backup_label', label);
  yield tarEnd;
}

/** They do not change their sizes. */
async function* fileIn(session: Session, path: string): AsyncGenerator<Uint8Array> {
  const size = await session.sizeOf(path);
  const name = Buffer.from(`./${path}`);
  const none = Buffer.alloc(0);
  yield tarHeaders({ name, type: 'file', size, mode: 0o600, mtimeMs: Date.now(), target: none });
  for (let at = 0; at < size; at += pieceBytes) {
    yield await session.read(path, at, Math.min(pieceBytes, size - at));
  }
  yield* zeros(paddingOf(size));
}

interface Finished {
  /** The segments of the log that are needed. */
  segments: string[];
  /** What `backup_label` holds. */
  label: string;
}

/** The connection that the backup belongs to: its end ends the backup. */
class Session {
  readonly #client: Client;
  readonly #names: { start: string; stop: string };
  readonly #over: () => void;

  private constructor(client: Client, version: string, over: () => void) {
    this.#client = client;
    this.#over = over;
    this.#names =
      Number.parseInt(version, 10) < 15
        ? { start: "pg_start_backup('gangway', true, false)", stop: 'pg_stop_backup(false, false)' }
        : { start: "pg_backup_start('gangway', true)", stop: 'pg_backup_stop(false)' };
  }

  static open(target: DatabaseTarget): Promise<Session> {
    const over = Promise.withResolvers<undefined>();
    return new Promise((resolve, reject) => {
      asPostgresAdmin(target, postgresAdmin, 'DUMP_FAILED', async (client) => {
        resolve(new Session(client, target.version, () => over.resolve(undefined)));
        await over.promise;
      }).catch(reject);
    });
  }

  /** Resolves with the first segment of the log that is needed. */
  async begin(): Promise<string> {
    await this.#client.query(
      `SELECT pg_create_physical_replication_slot('gangway_' || pg_backend_pid(), true, true)`,
    );
    const { rows } = await this.#client.query<{ segment: string }>(
      `SELECT pg_walfile_name(lsn) AS segment FROM ${this.#names.start} AS lsn`,
    );
    return rows[0]?.segment ?? '';
  }

  async finish(from: string): Promise<Finished> {
    const { rows } = await this.#client.query<{ segment: string; label: string }>(
      `SELECT pg_walfile_name(lsn) AS segment, labelfile AS label FROM ${this.#names.stop}`,
    );
    const { segment = '', label = '' } = rows[0] ?? {};
    // From here on nothing is written to the last one.
    await this.#client.query('SELECT pg_switch_wal()');
    const { rows: found } = await this.#client.query<{ name: string }>(
      `SELECT name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$' AND name BETWEEN $1 AND $2 ORDER BY name`,
      [from, segment],
    );
    return { segments: found.map(({ name }) => name), label };
  }

  /** Paths are below its data. */
  async sizeOf(path: string): Promise<number> {
    const { rows } = await this.#client.query<{ size: string }>(
      'SELECT size FROM pg_stat_file($1)',
      [path],
    );
    return Number(rows[0]?.size);
  }

  async read(path: string, at: number, length: number): Promise<Buffer> {
    const { rows } = await this.#client.query<{ bytes: Buffer }>(
      'SELECT pg_read_binary_file($1, $2, $3) AS bytes',
      [path, at, length],
    );
    const bytes = rows[0]?.bytes;
    if (bytes?.length !== length) throw new Error(`Cannot read ${path}: it is cut off`);
    return bytes;
  }

  close(): void {
    this.#over();
  }
}

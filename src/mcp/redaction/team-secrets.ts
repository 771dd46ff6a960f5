/**
 * Owns what is known of the secrets of one team: the values of its apps' variables, the passwords of its
 * databases with the addresses they stand in, and the secrets of its git connections, all in one index. Databases in trash count: they
 * may come back, and what shows their passwords stays where it is.
 *
 * 1. The values of an app, or a database, are opened when they are needed, and again when one of them
 *    has changed.
 * 2. A value that cannot be opened is told in the log, by name, and is not looked for.
 * 3. The last `replacedMax` values of each that were replaced or removed stay known, since older lines of
 *    a log still show them. Values that were replaced before it was opened are not known.
 * 4. Values of so many characters are kept; the log says whose are left out.
 */
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type {
  AppRecord,
  DatabaseRecord,
  EnvRecord,
  GitConnectionRecord,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { appSecrets, type Secret, type Variable } from './app-secrets.ts';
import type { OpenDatabase, OpenedDatabase } from './database-secrets.ts';
import { type Form, formsOf } from './forms.ts';
import { publicDatabaseValues, publicValues } from './public-values.ts';
import { SecretIndex } from './secret-index.ts';

export interface TeamSecretsOptions {
  reader: Pick<Reader, 'get' | 'find' | 'list'>;
  /** Opens a secret variable; null, or a throw, for one that cannot be opened. */
  open: (record: Readonly<EnvRecord>) => string | null;
  openDatabase: OpenDatabase;
  /** The secrets of a git connection; a throw for one that cannot be opened. */
  openConnection: (record: Readonly<GitConnectionRecord>) => string[];
  log: Logger;
  /** Characters of all forms of the team's values. */
  charsMax: number;
}

interface Database {
  readonly record: Readonly<DatabaseRecord>;
  /** Undefined: it cannot be opened. */
  readonly opened: OpenedDatabase | undefined;
}

interface KnownSecret extends Secret {
  readonly forms: readonly Form[];
}

/** Of one app, or one database. */
interface KnownSecrets {
  /** By name and value. */
  readonly current: ReadonlyMap<string, KnownSecret>;
  readonly replaced: readonly KnownSecret[];
}

const replacedMax = 32;
const nothing: KnownSecrets = { current: new Map(), replaced: [] };

export class TeamSecrets {
  readonly index = new SecretIndex();
  readonly #teamId: string;
  readonly #options: TeamSecretsOptions;
  readonly #known = new Map<string, KnownSecrets>();
  /** Those that are open, with the databases that their variables name. */
  readonly #apps = new Map<string, ReadonlySet<string>>();
  readonly #databases = new Map<string, Database>();
  readonly #connections = new Set<string>();
  #hasAllApps = false;
  #hasAllDatabases = false;

  constructor(teamId: string, options: TeamSecretsOptions) {
    this.#teamId = teamId;
    this.#options = options;
  }

  /** Whether all databases are open, and all apps unless only one of them counts. */
  isOpen(isForApp: boolean): boolean {
    return this.#hasAllDatabases && (isForApp || this.#hasAllApps);
  }

  hasDatabase(id: string): boolean {
    return this.#databases.has(id);
  }

  hasConnection(id: string): boolean {
    return this.#connections.has(id);
  }

  /** Opens what `isOpen` asks about, one app or database a step. The journal may bring some meanwhile. */
  *open(isForApp: boolean): Generator<void, void> {
    if (!this.#hasAllDatabases) {
      for (const id of this.#databaseIds()) {
        if (this.#databases.has(id)) continue;
        this.#findDatabase(id);
        yield;
      }
      const { reader: of } = this.#options;
      for (const one of of.list(tables.gitConnections, 'team', [this.#teamId], all)) {
        this.followConnection(one.id, one);
      }
      this.#hasAllDatabases = true;
    }
    if (isForApp || this.#hasAllApps) return;
    const { reader } = this.#options;
    for (const { id } of reader.list(tables.apps, 'team', [this.#teamId], all)) {
      if (this.#apps.has(id)) continue;
      this.followApp(id, reader.get(tables.apps, id) ?? null);
      yield;
    }
    this.#hasAllApps = true;
  }

  /** Opens an app of the team, unless it is open. */
  openApp(appId: string): void {
    if (!this.#apps.has(appId)) this.#enterApp(appId);
  }

  /** Takes in what an app is now; null: it is gone. One in trash is none of the team. */
  followApp(appId: string, app: Readonly<AppRecord> | null): void {
    if (app?.teamId === this.#teamId && app.deletedAtMs === null) this.openApp(appId);
    else if (this.#apps.delete(appId)) this.#leave(appId);
  }

  /** Takes in the variables of an app, of which one has changed. */
  followVariables(appId: string): void {
    if (this.#apps.has(appId)) this.#enterApp(appId);
  }

  /** Takes in what a database is now; null: it is gone. Most changes of one change no secret. */
  followDatabase(id: string, record: Readonly<DatabaseRecord> | null): void {
    const known = this.#databases.get(id);
    if (record?.teamId === this.#teamId) {
      if (known !== undefined && hasSameSecrets(known.record, record)) return;
      this.#enterDatabase(record);
    } else {
      if (!this.#databases.delete(id)) return;
      this.#leave(id);
    }
    for (const [appId, databaseIds] of this.#apps) {
      if (databaseIds.has(id)) this.#enterApp(appId);
    }
  }

  /** Takes in a git connection, whose secrets never change; null: it is gone, and what it had stays known. */
  followConnection(id: string, record: Readonly<GitConnectionRecord> | null): void {
    if (record?.teamId !== this.#teamId || this.#connections.has(id)) return;
    this.#connections.add(id);
    const secrets = this.#openConnection(record);
    this.#enter(
      id,
      secrets.map((value) => ({ what: 'git token', value })),
      () => false,
    );
  }

  /** A database of the team, opened here and now where it has to be. */
  #findDatabase(id: string): Database | undefined {
    const known = this.#databases.get(id);
    if (known !== undefined) return known;
    const record = this.#options.reader.get(tables.databases, id);
    return record?.teamId === this.#teamId ? this.#enterDatabase(record) : undefined;
  }

  #enterApp(appId: string): void {
    const { reader } = this.#options;
    const records = reader.list(tables.env, 'app', [appId], all);
    const { secrets, shown, databaseIds } = appSecrets(
      records.flatMap((record) => this.#open(record) ?? []),
      (id) => this.#findDatabase(id)?.opened,
    );
    this.#apps.set(appId, databaseIds);
    this.#enter(appId, secrets, publicValues(reader, appId), shown);
  }

  #enterDatabase(record: Readonly<DatabaseRecord>): Database {
    const database: Database = { record, opened: this.#openDatabase(record) };
    this.#databases.set(record.id, database);
    const { passwords = [], urls = [] } = database.opened ?? {};
    const secrets = [
      ...passwords.map((value) => ({ what: 'password', value })),
      ...urls.map((value) => ({ what: 'connection string', value })),
    ];
    this.#enter(record.id, secrets, publicDatabaseValues(this.#options.reader, record));
    return database;
  }

  /** `shown`: what was replaced and is now shown to everybody is no secret any more. */
  #enter(
    owner: string,
    secrets: readonly Secret[],
    isPublic: (value: string) => boolean,
    shown: ReadonlySet<string> = new Set(),
  ): void {
    const { log, charsMax } = this.#options;
    const before = this.#known.get(owner) ?? nothing;
    const current = new Map<string, KnownSecret>();
    for (const { what, value } of secrets) {
      const key = `${what}\0${value}`;
      const known = before.current.get(key) ?? { what, value, forms: formsOf(value) };
      current.set(key, known);
    }
    const gone = [...before.current].flatMap(([key, one]) => (current.has(key) ? [] : [one]));
    const replaced = [...gone, ...before.replaced]
      .filter(({ value }) => !shown.has(value))
      .slice(0, replacedMax);
    this.#known.set(owner, { current, replaced });
    this.index.remove(owner);
    if (this.index.chars > charsMax) {
      log.warn({ owner, teamId: this.#teamId }, 'redaction_values_left_out');
      return;
    }
    for (const { what, value, forms } of [...current.values(), ...replaced]) {
      if (!isPublic(value)) this.index.add(owner, what, forms);
    }
  }

  #leave(owner: string): void {
    this.#known.delete(owner);
    this.index.remove(owner);
  }

  #open(record: Readonly<EnvRecord>): Variable | null {
    const { appId, key, isSecret } = record;
    if (!isSecret) return { key, value: record.value ?? '', isSecret };
    try {
      const value = this.#options.open(record);
      return value === null ? null : { key, value, isSecret };
    } catch (error) {
      this.#options.log.error({ err: error, appId, key }, 'redaction_value_unreadable');
      return null;
    }
  }

  #openDatabase(record: Readonly<DatabaseRecord>): OpenedDatabase | undefined {
    try {
      return this.#options.openDatabase(record);
    } catch (error) {
      this.#options.log.error({ err: error, databaseId: record.id }, 'redaction_value_unreadable');
      return undefined;
    }
  }

  #openConnection(record: Readonly<GitConnectionRecord>): string[] {
    try {
      return this.#options.openConnection(record);
    } catch (error) {
      this.#options.log.error(
        { err: error, connectionId: record.id },
        'redaction_value_unreadable',
      );
      return [];
    }
  }

  #databaseIds(): string[] {
    const { reader } = this.#options;
    const trash = reader.list(tables.trash, 'team', [this.#teamId], all);
    return [
      ...reader.list(tables.databases, 'team', [this.#teamId], all).map(({ id }) => id),
      ...trash.flatMap(({ kind, targetId }) => (kind === 'database' ? [targetId] : [])),
    ];
  }
}

const all = { limit: Infinity };

function hasSameSecrets(a: Readonly<DatabaseRecord>, b: Readonly<DatabaseRecord>): boolean {
  return (
    a.run.port === b.run.port &&
    isSame(a.passwordSealed, b.passwordSealed) &&
    isSame(a.nextPasswordSealed, b.nextPasswordSealed) &&
    isSame(a.adminSealed, b.adminSealed)
  );
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === b || (a !== null && b !== null && Buffer.compare(a, b) === 0);
}

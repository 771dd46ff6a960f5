/**
 * Owns what is known of the secrets of one team: the values of its apps' variables, and the passwords
 * of its databases with the addresses they stand in, all in one index. Databases in trash count: they
 * may come back, and what shows their passwords stays where it is.
 *
 * 1. A value is opened once, and again when what it comes from has changed.
 * 2. A value that cannot be opened is told in the log, by name, and is not looked for.
 * 3. Values of so many characters are kept; the log says whose are left out.
 */
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, DatabaseRecord, EnvRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { AppSecrets, type OpenSecret, type Variable } from './app-secrets.ts';
import type { OpenDatabase, OpenedDatabase } from './database-secrets.ts';
import { KnownSecrets } from './known-secrets.ts';
import { publicDatabaseValues, publicValues } from './public-values.ts';
import { SecretIndex } from './secret-index.ts';

export interface TeamSecretsOptions {
  reader: Pick<Reader, 'get' | 'find' | 'list'>;
  /** Opens a secret variable; what it throws counts as null. */
  open: OpenSecret;
  openDatabase: OpenDatabase;
  log: Logger;
  /** Characters of all forms of the team's values. */
  charsMax: number;
}

interface Database {
  readonly record: Readonly<DatabaseRecord>;
  /** Undefined: it cannot be opened. */
  readonly opened: OpenedDatabase | undefined;
  readonly known: KnownSecrets;
}

export class TeamSecrets {
  readonly index = new SecretIndex();
  readonly #teamId: string;
  readonly #options: TeamSecretsOptions;
  readonly #apps = new Map<string, AppSecrets>();
  readonly #databases = new Map<string, Database>();
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

  /** Opens what `isOpen` asks about, one app or database a step. The journal may bring some meanwhile. */
  *open(isForApp: boolean): Generator<void, void> {
    if (!this.#hasAllDatabases) {
      for (const id of this.#databaseIds()) {
        if (this.#databases.has(id)) continue;
        this.#findDatabase(id);
        yield;
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
    if (this.#apps.has(appId)) return;
    const app = new AppSecrets(appId, (id) => this.#findDatabase(id)?.opened);
    for (const record of this.#options.reader.list(tables.env, 'app', [appId], all)) {
      app.set(record.key, this.#open(record));
    }
    this.#apps.set(appId, app);
    this.#enterApp(app);
  }

  /** Takes in what an app is now; null: it is gone. One in trash is none of the team. */
  followApp(appId: string, app: Readonly<AppRecord> | null): void {
    if (app?.teamId === this.#teamId && app.deletedAtMs === null) this.openApp(appId);
    else if (this.#apps.delete(appId)) this.index.remove(appId);
  }

  /** Takes in what a variable is now; null: it is gone. */
  followVariable(appId: string, key: string, record: Readonly<EnvRecord> | null): void {
    const app = this.#apps.get(appId);
    if (app === undefined) return;
    app.set(key, record && this.#open(record));
    this.#enterApp(app);
  }

  /** Takes in what a database is now; null: it is gone. Most changes of one change no secret. */
  followDatabase(id: string, record: Readonly<DatabaseRecord> | null): void {
    const known = this.#databases.get(id);
    if (record?.teamId === this.#teamId) {
      if (known !== undefined && hasSameSecrets(known.record, record)) return;
      this.#enterDatabase(record, known?.known ?? new KnownSecrets(id));
    } else {
      if (!this.#databases.delete(id)) return;
      this.index.remove(id);
    }
    for (const app of this.#apps.values()) if (app.refresh(id)) this.#enterApp(app);
  }

  /** A database of the team, opened here and now where it has to be. */
  #findDatabase(id: string): Database | undefined {
    const known = this.#databases.get(id);
    if (known !== undefined) return known;
    const record = this.#options.reader.get(tables.databases, id);
    if (record?.teamId !== this.#teamId) return undefined;
    return this.#enterDatabase(record, new KnownSecrets(id));
  }

  #enterApp(app: AppSecrets): void {
    this.#enter(app.known, publicValues(this.#options.reader, app.known.owner));
  }

  #enterDatabase(record: Readonly<DatabaseRecord>, known: KnownSecrets): Database {
    const database: Database = { record, opened: this.#openDatabase(record), known };
    this.#databases.set(record.id, database);
    known.set('password', 'password', database.opened?.passwords ?? []);
    known.set('url', 'connection string', database.opened?.urls ?? []);
    this.#enter(known, publicDatabaseValues(this.#options.reader, record));
    return database;
  }

  #enter(known: KnownSecrets, isPublic: (value: string) => boolean): void {
    const { log, charsMax } = this.#options;
    this.index.remove(known.owner);
    if (this.index.chars <= charsMax) known.addTo(this.index, isPublic);
    else log.warn({ owner: known.owner, teamId: this.#teamId }, 'redaction_values_left_out');
  }

  #open(record: Readonly<EnvRecord>): Variable | null {
    if (!record.isSecret) return { value: record.value ?? '', isSecret: false };
    try {
      const value = this.#options.open(record);
      return value === null ? null : { value, isSecret: true };
    } catch (error) {
      const { appId, key } = record;
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

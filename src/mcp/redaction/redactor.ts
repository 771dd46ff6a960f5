/**
 * Owns what is known of the secret values of apps and databases, and the redactions made of it.
 *
 * 1. A value is opened once, and is in memory only, of so many apps and characters at most.
 * 2. A redaction knows every value that is in force when it is asked: the journal entry that changes
 *    a variable or a password, or takes an app away, changes what is known before the change is
 *    answered.
 * 3. Nothing here takes long at a time: many apps are opened in slices, between which others run.
 * 4. A value that cannot be opened is told in the log, by name, and is not looked for.
 * 5. An app of one team never meets the secrets of another.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '../../lib/log.ts';
import type { Journal, JournalEntry, Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, DatabaseRecord, EnvRecord } from '../../store/records/records.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { AppSecrets, type OpenSecret, type Variable } from './app-secrets.ts';
import type { OpenDatabase } from './database-secrets.ts';
import { Patterns } from './patterns.ts';
import { publicValues } from './public-values.ts';
import { CleanTexts, type Redaction, ValueRedaction } from './redaction.ts';
import { TeamDatabases } from './team-databases.ts';
import { type Sees, ValueIndex } from './value-index.ts';

export interface RedactorOptions {
  reader: Pick<Reader, 'get' | 'find' | 'list'>;
  subscribe: Journal['subscribe'];
  /** Opens a secret variable; what it throws counts as null. */
  open: OpenSecret;
  openDatabase: OpenDatabase;
  log: Logger;
  limits?: Partial<RedactorLimits>;
}

export interface RedactorLimits {
  /** Apps and teams kept ready; those not asked for the longest go first. */
  scopes: number;
  /** Characters of all forms of all values kept, and of one team's. */
  chars: number;
  /** Apps opened at a time; one with twenty secrets takes about half a millisecond. */
  slice: number;
}

const limitDefaults: RedactorLimits = { scopes: 512, chars: 32 * 2 ** 20, slice: 1 };
const variablesMax = 1_000;
const pageApps = 500;

/** What is ready for an app, or for a team and its apps. */
interface Scope {
  readonly id: string;
  /** Null: of no team, and so without databases. */
  readonly teamId: string | null;
  readonly index: ValueIndex;
  clean: CleanTexts;
  /** Those that `clean` is about, too. */
  databases: TeamDatabases | null;
  readonly apps: Map<string, AppSecrets>;
  /** Of a team, until all its apps are in. */
  building: Promise<void> | null;
}

export class Redactor {
  readonly #options: RedactorOptions;
  readonly #limits: RedactorLimits;
  readonly #patterns = new Patterns();
  /** By id of app or team, the least recently used first. */
  readonly #scopes = new Map<string, Scope>();
  /** By team, of those that have a scope. */
  readonly #databases = new Map<string, TeamDatabases>();
  /** Of the last of them, which is asked for again and again; '' where that is not known. */
  #latest = '';
  readonly #unsubscribe: () => void;
  /** Finds what needs no values: for texts that belong to no team. */
  readonly shapes: Redaction;

  constructor(options: RedactorOptions) {
    this.#options = options;
    this.#limits = { ...limitDefaults, ...options.limits };
    this.shapes = this.#redaction(newScope('', null));
    this.#unsubscribe = options.subscribe((entry) => this.#follow(entry));
  }

  /**
   * For what tells of this app alone, such as its logs. Any program of its team may be told a password
   * of the team's databases; `sees` leaves out those that the caller cannot see, as in `forTeam`, unless
   * the app refers to them.
   */
  forApp(appId: string, sees?: Sees): Redaction {
    return this.#redaction(
      this.#recent(appId) ?? this.#startApp(appId),
      sees && ((owner) => owner === appId || sees(owner)),
    );
  }

  /**
   * For what may tell of any app or database of a team. `sees` leaves out those that the caller cannot
   * see, whose values would tell by their absence what they are. At once when the team is ready.
   */
  forTeam(teamId: string, sees?: Sees): Redaction | Promise<Redaction> {
    const scope = this.#recent(teamId) ?? this.#startTeam(teamId);
    if (scope.building === null) return this.#redaction(scope, sees);
    return scope.building.then(() => this.#redaction(scope, sees));
  }

  /** Opens what a redaction for one app of a team, or for the whole team, needs; null when it is open. */
  open(teamId: string, isForApp = false): Promise<void> | null {
    if (isForApp) return this.#openDatabases(teamId);
    const { building } = this.#recent(teamId) ?? this.#startTeam(teamId);
    return building;
  }

  /**
   * Takes out what an answer to this team must not hold: values of the app that it tells of, named by
   * id or slug, or of all apps of the team where it may tell of any, and of databases. What is not open
   * is opened here and now; await `open` before, where there is time.
   */
  redact(text: string, teamId: string, appId?: string, sees?: Sees): string {
    const app = appId === undefined ? undefined : this.#appOf(teamId, appId);
    if (app) return this.forApp(app.id, sees).any(text);
    return this.#redaction(this.#teamNow(teamId), sees).any(text);
  }

  /** Forgets everything and stops listening. */
  close(): void {
    this.#unsubscribe();
    this.#scopes.clear();
    this.#databases.clear();
  }

  #redaction(scope: Scope, sees?: Sees): Redaction {
    const databases = scope.teamId === null ? null : this.#databasesNow(scope.teamId);
    if (scope.databases !== databases) {
      scope.databases = databases;
      scope.clean = new CleanTexts();
    }
    const { index, clean } = scope;
    const patterns = this.#patterns;
    if (databases === null) return new ValueRedaction({ patterns, values: [index], clean, sees });
    return new ValueRedaction({ patterns, values: [index, databases.index], clean, sees });
  }

  #databasesOf(teamId: string): TeamDatabases {
    const known = this.#databases.get(teamId);
    if (known !== undefined) return known;
    const { reader, log, openDatabase } = this.#options;
    const databases = new TeamDatabases(teamId, {
      reader,
      open: openDatabase,
      charsMax: this.#limits.chars,
      onTrouble: (event, databaseId, error) => {
        if (error === undefined) log.warn({ databaseId, teamId }, event);
        else log.error({ err: error, databaseId }, event);
      },
    });
    this.#databases.set(teamId, databases);
    return databases;
  }

  #databasesNow(teamId: string): TeamDatabases {
    const databases = this.#databasesOf(teamId);
    // What is opened in slices meanwhile finds nothing left to open.
    if (!databases.isWhole) for (const id of databases.missing()) databases.find(id);
    return databases;
  }

  #openDatabases(teamId: string): Promise<void> | null {
    const databases = this.#databasesOf(teamId);
    if (databases.isWhole) return null;
    databases.building ??= this.#inSlices(databases.missing(), databases.find).finally(() => {
      databases.building = null;
    });
    return databases.building;
  }

  /** One after the other, with pauses for others between them. */
  async #inSlices(ids: Iterable<string>, open: (id: string) => unknown): Promise<void> {
    let count = 0;
    for (const id of ids) {
      open(id);
      if (++count % this.#limits.slice === 0) await turn();
    }
  }

  #recent(id: string): Scope | undefined {
    const scope = this.#scopes.get(id);
    if (scope === undefined || id === this.#latest) return scope;
    this.#scopes.delete(id);
    this.#scopes.set(id, scope);
    this.#latest = id;
    return scope;
  }

  #keep(scope: Scope): void {
    this.#scopes.set(scope.id, scope);
    this.#latest = '';
    let chars = 0;
    for (const one of this.#scopes.values()) chars += one.index.chars;
    for (const one of this.#databases.values()) chars += one.index.chars;
    for (const [id, oldest] of this.#scopes) {
      if (this.#scopes.size <= this.#limits.scopes && chars <= this.#limits.chars) return;
      if (oldest === scope || oldest.building !== null) continue;
      this.#scopes.delete(id);
      chars -= oldest.index.chars + this.#forgetDatabases(oldest.teamId);
    }
  }

  /** Those of a team that has no scope any more; how many characters that were. */
  #forgetDatabases(teamId: string | null): number {
    if (teamId === null) return 0;
    for (const scope of this.#scopes.values()) if (scope.teamId === teamId) return 0;
    const databases = this.#databases.get(teamId);
    // Else somebody waits for them, or there are none: they have a scope in a moment.
    if (databases?.building !== null) return 0;
    this.#databases.delete(teamId);
    return databases.index.chars;
  }

  #startApp(appId: string): Scope {
    const { reader } = this.#options;
    const scope = newScope(appId, reader.get(tables.apps, appId)?.teamId ?? null);
    this.#load(scope, appId);
    this.#keep(scope);
    return scope;
  }

  #startTeam(teamId: string): Scope {
    const scope = newScope(teamId, teamId);
    scope.building = this.#build(scope, teamId).then(
      () => {
        scope.building = null;
        this.#keep(scope);
      },
      (error: unknown) => {
        this.#scopes.delete(teamId);
        throw error;
      },
    );
    this.#scopes.set(teamId, scope);
    this.#latest = '';
    return scope;
  }

  async #build(scope: Scope, teamId: string): Promise<void> {
    await this.#openDatabases(teamId);
    await this.#inSlices(this.#steps(scope, teamId), (appId) => {
      this.#load(scope, appId);
    });
  }

  #teamNow(teamId: string): Scope {
    const scope = this.#recent(teamId) ?? this.#startTeam(teamId);
    // What is opened in slices meanwhile finds nothing left to open.
    if (scope.building !== null) {
      for (const appId of this.#steps(scope, teamId)) this.#load(scope, appId);
    }
    return scope;
  }

  #appOf(teamId: string, idOrSlug: string): Readonly<AppRecord> | undefined {
    const { reader } = this.#options;
    const app = reader.get(tables.apps, idOrSlug) ?? reader.find(tables.apps, 'slug', [idOrSlug]);
    return app?.teamId === teamId ? app : undefined;
  }

  /** Apps of a team that are not open yet, one at a time. */
  *#steps(scope: Scope, teamId: string): Generator<string, void> {
    const { reader } = this.#options;
    let after: readonly string[] | undefined;
    for (;;) {
      const page: readonly Readonly<AppRecord>[] = reader.list(tables.apps, 'team', [teamId], {
        limit: pageApps,
        ...(after && { after }),
      });
      for (const app of page) {
        // The journal may have brought it in meanwhile, or taken it away.
        if (scope.apps.has(app.id)) continue;
        if (belongs(reader.get(tables.apps, app.id), teamId)) yield app.id;
      }
      const last = page.at(-1);
      if (last === undefined || page.length < pageApps) return;
      after = [teamId, last.id];
    }
  }

  #load(scope: Scope, appId: string): void {
    const { teamId } = scope;
    const find = (id: string) => (teamId === null ? undefined : this.#databasesOf(teamId).find(id));
    const secrets = new AppSecrets(appId, find);
    const options = { limit: variablesMax };
    for (const record of this.#options.reader.list(tables.env, 'app', [appId], options)) {
      secrets.set(record.key, this.#open(record));
    }
    scope.apps.set(appId, secrets);
    this.#enter(scope, secrets);
  }

  #enter(scope: Scope, secrets: AppSecrets): void {
    const { reader, log } = this.#options;
    scope.index.remove(secrets.appId);
    if (scope.index.chars > this.#limits.chars) {
      log.warn({ appId: secrets.appId, scope: scope.id }, 'redaction_values_left_out');
      return;
    }
    secrets.addTo(scope.index, publicValues(reader, secrets.appId));
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

  #follow(entry: JournalEntry): void {
    if (this.#databases.size === 0 && this.#scopes.size === 0) return;
    const changed = new Set<string>();
    for (const change of entry.changes) {
      if (change.table === tables.env.name) changed.add(this.#variable(change));
      else if (change.table === tables.databases.name) this.#database(change, changed);
      else if (change.table === tables.apps.name) this.#app(change);
    }
    for (const scope of this.#scopes.values()) {
      for (const appId of changed) {
        const secrets = scope.apps.get(appId);
        if (secrets) this.#enter(scope, secrets);
      }
    }
  }

  #variable(change: Change): string {
    const [appId = '', key = ''] = change.key as readonly string[];
    const scopes = [...this.#scopes.values()].filter((scope) => scope.apps.has(appId));
    if (scopes.length === 0) return appId;
    const record = isPut(change) ? (change.value as EnvRecord) : null;
    const variable = record && this.#open(record);
    for (const { apps } of scopes) apps.get(appId)?.set(key, variable);
    return appId;
  }

  /** Adds the apps to `changed` whose variables are something else by it. */
  #database(change: Change, changed: Set<string>): void {
    const record = isPut(change) ? (change.value as DatabaseRecord) : null;
    const id = change.key as string;
    for (const [teamId, databases] of this.#databases) {
      if (!databases.follow(id, record)) continue;
      for (const scope of this.#scopes.values()) {
        if (scope.teamId !== teamId) continue;
        for (const [appId, secrets] of scope.apps) {
          if (secrets.refresh(id)) changed.add(appId);
        }
      }
    }
  }

  /** Apps come to a team and leave it; in trash they are of none. */
  #app(change: Change): void {
    const app = isPut(change) ? (change.value as AppRecord) : undefined;
    const appId = change.key as string;
    const own = this.#scopes.get(appId);
    if (own !== undefined && own.teamId !== app?.teamId) this.#scopes.delete(appId);
    for (const scope of this.#scopes.values()) {
      if (scope.id === appId) continue;
      const isHere = belongs(app, scope.id);
      if (isHere && !scope.apps.has(appId)) this.#load(scope, appId);
      if (!isHere && scope.apps.delete(appId)) scope.index.remove(appId);
    }
  }
}

function newScope(id: string, teamId: string | null): Scope {
  const [index, clean] = [new ValueIndex(), new CleanTexts()];
  return { id, teamId, index, clean, databases: null, apps: new Map(), building: null };
}

function belongs(app: Readonly<AppRecord> | undefined, teamId: string): boolean {
  return app?.teamId === teamId && app.deletedAtMs === null;
}

function isPut(change: Change): change is Extract<Change, { value: unknown }> {
  return change.op === 'put' || change.op === 'insert';
}

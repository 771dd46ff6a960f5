/**
 * Owns what is known of the secrets of a team's databases, those in trash included: they may come
 * back, and what shows their passwords stays where it is.
 *
 * 1. A database is opened once, and again when something that is secret of it changed; most changes of
 *    a database are others.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DatabaseRecord, TrashRecord } from '../../store/records/records.ts';
import type { KeyPart } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { OpenDatabase, OpenedDatabase } from './database-secrets.ts';
import { KnownSecrets } from './known-secrets.ts';
import { publicDatabaseValues } from './public-values.ts';
import { ValueIndex } from './value-index.ts';

type Stored = Readonly<DatabaseRecord>;

interface Known {
  record: Stored;
  /** Null: it cannot be opened. */
  opened: OpenedDatabase | null;
  readonly secrets: KnownSecrets;
}

/** What the log says of a database whose values are not all known. */
type RedactionTrouble = 'redaction_values_left_out' | 'redaction_value_unreadable';

export interface TeamDatabasesOptions {
  reader: Pick<Reader, 'get' | 'find' | 'list'>;
  open: OpenDatabase;
  /** Told of what cannot be opened, or is too much. */
  onTrouble: (event: RedactionTrouble, databaseId: string, error?: unknown) => void;
  charsMax: number;
}

/** As many as a team may have. */
const databasesMax = 1_000;
const pageTrash = 500;

export class TeamDatabases {
  readonly index = new ValueIndex();
  /** Until all are in. */
  building: Promise<void> | null = null;
  readonly #teamId: string;
  readonly #options: TeamDatabasesOptions;
  readonly #known = new Map<string, Known>();
  #isWhole = false;

  constructor(teamId: string, options: TeamDatabasesOptions) {
    this.#teamId = teamId;
    this.#options = options;
  }

  /** Whether all are in. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Those that are not in, for `find` one after the other. */
  *missing(): Generator<string, void> {
    if (this.#isWhole) return;
    for (const id of this.#ids()) {
      // The journal may have brought it in meanwhile.
      if (!this.#known.has(id)) yield id;
    }
    this.#isWhole = true;
  }

  /** One of the team, opened here and now where it has to be. */
  readonly find = (id: string): OpenedDatabase | undefined => {
    const known = this.#known.get(id);
    if (known !== undefined) return known.opened ?? undefined;
    const record = this.#options.reader.get(tables.databases, id);
    if (record?.teamId !== this.#teamId) return undefined;
    return this.#enter(record, new KnownSecrets(id)) ?? undefined;
  };

  /** Takes in what a database is now; null: it is gone. Says whether that changed a secret. */
  follow(id: string, record: Stored | null): boolean {
    const known = this.#known.get(id);
    if (record?.teamId !== this.#teamId) {
      if (!this.#known.delete(id)) return false;
      this.index.remove(id);
      return true;
    }
    if (known !== undefined && isAlike(known.record, record)) return false;
    this.#enter(record, known?.secrets ?? new KnownSecrets(id));
    return true;
  }

  #enter(record: Stored, secrets: KnownSecrets): OpenedDatabase | null {
    const { reader, charsMax, onTrouble } = this.#options;
    const opened = this.#open(record);
    this.#known.set(record.id, { record, opened, secrets });
    secrets.set('password', 'password', opened?.passwords ?? []);
    secrets.set('url', 'connection string', opened?.urls ?? []);
    this.index.remove(record.id);
    if (this.index.chars > charsMax) onTrouble('redaction_values_left_out', record.id);
    else secrets.addTo(this.index, publicDatabaseValues(reader, record));
    return opened;
  }

  #open(record: Stored): OpenedDatabase | null {
    try {
      return this.#options.open(record);
    } catch (error) {
      this.#options.onTrouble('redaction_value_unreadable', record.id, error);
      return null;
    }
  }

  *#ids(): Generator<string, void> {
    const { reader } = this.#options;
    const live = { limit: databasesMax };
    for (const { id } of reader.list(tables.databases, 'team', [this.#teamId], live)) yield id;
    let after: readonly KeyPart[] | undefined;
    for (;;) {
      const options = { limit: pageTrash, ...(after && { after }) };
      const page: readonly Readonly<TrashRecord>[] = reader.list(
        tables.trash,
        'team',
        [this.#teamId],
        options,
      );
      for (const { kind, targetId } of page) if (kind === 'database') yield targetId;
      const last = page.at(-1);
      if (last === undefined || page.length < pageTrash) return;
      after = [this.#teamId, last.deletedAtMs, last.id];
    }
  }
}

/** Whether nothing differs by which its secrets would. */
function isAlike(a: Stored, b: Stored): boolean {
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

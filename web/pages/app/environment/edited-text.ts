/** Owns all variables as one text that is edited: what it shows at first, and what an edit of it means. */
import { type Entry, parseDotEnv, toDotEnv } from './dot-env.ts';

interface Known {
  readonly key: string;
  readonly isSecret: boolean;
  /** Null for a secret, which the text does not show. */
  readonly value: string | null;
}

/** Values as they are, and a remark for each secret. */
export function textOf(known: readonly Known[]): string {
  const plain = known.flatMap(({ key, value }) => (value === null ? [] : [{ key, value }]));
  const secrets = known.filter(({ value }) => value === null);
  const remarks = secrets.map(({ key }) => `# ${key} is secret; ${key}=… gives it another value\n`);
  return toDotEnv(plain) + remarks.join('');
}

export interface Edit {
  added: readonly Entry[];
  changed: readonly Entry[];
  /** Keys of plain variables whose lines are gone. A secret has no line that could go. */
  deleted: readonly string[];
  problems: readonly string[];
}

export function editOf(text: string, known: readonly Known[]): Edit {
  const { entries, problems } = parseDotEnv(text);
  const before = new Map(known.map((one) => [one.key, one]));
  const named = new Set(entries.map(({ key }) => key));
  return {
    added: entries.filter(({ key }) => !before.has(key)),
    changed: entries.filter(({ key, value }) => {
      const one = before.get(key);
      return one !== undefined && one.value !== value;
    }),
    deleted: known
      .filter(({ key, value }) => value !== null && !named.has(key))
      .map(({ key }) => key),
    problems,
  };
}

/** Parts of a database that an app may refer to. */
const parts = ['url', 'host', 'port', 'username', 'password', 'name'];

export function referenceTo(databaseId: string, part = 'url'): string {
  return `\${database.${databaseId}.${part}}`;
}

export interface Offer {
  from: number;
  label: string;
  detail: string;
}

/** What may follow a `$` at the end of a line's text. */
export function offersFor(
  before: string,
  databases: readonly { id: string; name: string }[],
): Offer[] {
  const typed = /\$\{?[\w.]*$/.exec(before);
  if (typed === null) return [];
  return databases.flatMap(({ id, name }) =>
    parts.map((part) => ({
      ...{ from: typed.index, label: referenceTo(id, part) },
      detail: `${name}: ${part}`,
    })),
  );
}

/**
 * Owns environment variables as the text of a .env file: lines of `KEY=value`, `#` before remarks. A value in
 * double quotes knows `\n`, `\"` and `\\`; one in single quotes is taken as it stands.
 */

export interface Entry {
  key: string;
  value: string;
}

export interface Parsed {
  entries: readonly Entry[];
  /** Sentences, each with the number of its line. */
  problems: readonly string[];
}

const line = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;

/** Of a key that comes twice the last one counts, as in a shell. */
export function parseDotEnv(text: string): Parsed {
  const entries = new Map<string, string>();
  const problems: string[] = [];
  text.split(/\r?\n/).forEach((raw, i) => {
    const trimmed = raw.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return;
    const [, key, value] = line.exec(trimmed) ?? [];
    if (key === undefined || value === undefined) {
      problems.push(`Line ${String(i + 1)} is no KEY=value.`);
    } else entries.set(key, unquoted(value));
  });
  return { entries: [...entries].map(([key, value]) => ({ key, value })), problems };
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

function unquoted(value: string): string {
  if (/^'[^']*'$/.test(value)) return value.slice(1, -1);
  if (!/^"(?:[^"\\]|\\.)*"$/.test(value)) return value.replace(/\s+#.*$/, '');
  return value.slice(1, -1).replace(/\\(.)/g, (_all, char: string) => escapes[char] ?? char);
}

/** As `parseDotEnv` reads it back. */
export function toDotEnv(entries: readonly Entry[]): string {
  return entries.map(({ key, value }) => `${key}=${quoted(value)}\n`).join('');
}

function quoted(value: string): string {
  if (/^[^\s'"#\\]*$/.test(value)) return value;
  const escaped = value
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

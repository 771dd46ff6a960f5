/** Owns the small notations of a compose file: times, sizes, command lines, ports, volumes. */

const timeUnits: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Limits the length of a time or size, because the search for its parts takes quadratic time. */
const notationMax = 64;

/** Milliseconds of `1m30s`; undefined when the text is no duration. */
export function durationMs(text: string): number | undefined {
  if (text.length > notationMax) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(us|ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return undefined;
  const ms = parts.reduce(
    (sum, part) => sum + Number(part[1]) * (timeUnits[part[2] ?? ''] ?? 0),
    0,
  );
  return Math.round(ms);
}

const sizeUnits: Readonly<Record<string, number>> = { b: 0, k: 1, m: 2, g: 3 };

/** Bytes of `512m`, `1gb`, `4096`; undefined when the text is no size. */
export function sizeBytes(text: string): number | undefined {
  if (text.length > notationMax) return undefined;
  const [, digits, unit = 'b'] = /^(\d+(?:\.\d+)?)([bkmg])?b?$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  return Math.round(Number(digits) * 1024 ** (sizeUnits[unit.toLowerCase()] ?? 0));
}

/** The words of a command line, quoted as in a shell. Nothing is expanded. Undefined: a quote is open. */
export function wordsOf(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (quote !== '') {
      if (char === quote) quote = '';
      else if (char === '\\' && quote === '"' && /["\\$`]/.test(line.charAt(at + 1))) {
        word = (word ?? '') + line.charAt(++at);
      } else word = (word ?? '') + char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === '\\' && at + 1 < line.length) {
      word = (word ?? '') + line.charAt(++at);
    } else word = (word ?? '') + char;
  }
  if (quote !== '') return undefined;
  if (word !== undefined) words.push(word);
  return words;
}

/** The container port of `80`, `8080:80`, `127.0.0.1:8080:80/tcp`; undefined for ranges, UDP and nonsense. */
export function portInside(text: string): number | undefined {
  const [, inside] =
    /^(?:(?:[\d.]*|\[[\da-f:]*\]):)?(?:\d*:)?(\d{1,5})(?:\/tcp)?$/i.exec(text) ?? [];
  const port = Number(inside);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

export interface VolumeUse {
  /** Null: a volume without a name, which is removed with its container. */
  name: string | null;
  path: string;
  readOnly: boolean;
}

/** Reads `name:/path[:ro|rw]` or `/path`. Returns a string that says what is wrong. */
export function volumeUse(text: string): VolumeUse | string {
  const [first = '', ...rest] = text.split(':');
  if (first.startsWith('/') && rest.length === 0) {
    return isInsidePath(first) ? { name: null, path: first, readOnly: false } : badPath;
  }
  if (!/^[\w][\w.-]*$/.test(first)) return 'folders of the host are refused; name a volume';
  const [path = '', mode = 'rw', ...more] = rest;
  if (!isInsidePath(path)) return badPath;
  if (more.length > 0 || (mode !== 'rw' && mode !== 'ro')) return 'the mode must be rw or ro';
  return { name: first, path, readOnly: mode === 'ro' };
}

const badPath = 'it must be mounted at an absolute path without "..", not in /proc or /sys';

/** Whether this is an absolute path in a container without `..`, which the kernel does not fill itself. */
export function isInsidePath(path: string): boolean {
  const [root, ...folders] = path.replace(/(?<=.)\/$/, '').split('/');
  const isPlain = folders.every((name) => !['', '.', '..'].includes(name));
  return (
    root === '' &&
    folders.length > 0 &&
    isPlain &&
    !/[\0:]/.test(path) &&
    !/^(proc|sys)$/.test(folders[0] ?? '')
  );
}

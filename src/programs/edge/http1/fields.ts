/**
 * Owns the field lines of a head and of trailers (RFC 9112, 5), as text of one character a byte.
 *
 * 1. What two parsers could read differently is refused: folded lines, a line end other than CRLF, a name that is no
 *    token or stands off its colon, control characters.
 * 2. Lines that nobody looks at pass on as they came, and are not taken apart.
 */

export interface Fields {
  /** The lines that pass on, each with its end. */
  passed: string;
  /** Those that are looked at: names in lower case and values, in turn. They are not in `passed`. */
  noted: string[];
}

const [tab, lf, cr, space, colon] = [9, 10, 13, 32, 58];
const [tokenChar, underscore] = [1, 2];

/** By the code of a character: what it is in a name, 0 if nothing. */
const nameChars = new Uint8Array(256);
for (const char of "!#$%&'*+-.^`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  nameChars[char.charCodeAt(0)] = tokenChar;
nameChars[95] = underscore;
/** Whether it may stand in a value: HTAB, SP, VCHAR and obs-text. */
const valueChars = new Uint8Array(256).fill(1, 0x20, 0x7f).fill(1, 0x80);
valueChars[tab] = 1;

export class FieldReader {
  readonly #names: ReadonlySet<string>;
  readonly #prefix: string | undefined;
  readonly #unwelcome: number;
  /** By the length of a name: a bit for each letter that names to be looked at begin with. */
  readonly #letters = new Uint32Array(256);

  /**
   * `names`: of lines to be looked at, in lower case. `prefix`: those with names that begin so, too. With
   * `dropsUnderscores` no name with `_` passes: who gets it may take it for the one with `-`.
   */
  constructor(names: readonly string[], prefix?: string, dropsUnderscores = false) {
    this.#names = new Set(names);
    this.#prefix = prefix;
    this.#unwelcome = dropsUnderscores ? underscore : 0;
    for (const name of names) this.#expect(name, name.length);
    if (prefix === undefined) return;
    for (let length = prefix.length; length < 256; length++) this.#expect(prefix, length);
  }

  /** Reads from there to the empty line, which has to be there. Undefined: it is malformed. */
  read(text: string, from: number): Fields | undefined {
    const noted: string[] = [];
    let passed = '';
    let run = from;
    let at = from;
    for (;;) {
      const start = at;
      let seen = 0;
      let kind: number | undefined;
      while ((kind = nameChars[text.charCodeAt(at)])) {
        seen |= kind;
        at++;
      }
      if (at === start) break;
      const nameEnd = at;
      if (text.charCodeAt(at++) !== colon) return undefined;
      while (valueChars[text.charCodeAt(at)]) at++;
      if (text.charCodeAt(at) !== cr || text.charCodeAt(at + 1) !== lf) return undefined;
      at += 2;
      const passes = (seen & this.#unwelcome) === 0;
      if (passes && !this.#mayBeNoted(text, start, nameEnd)) continue;
      if (passes) {
        const name = text.slice(start, nameEnd).toLowerCase();
        if (!this.#isNoted(name)) continue;
        noted.push(name, valueOf(text, nameEnd + 1, at - 2));
      }
      passed += text.slice(run, start);
      run = at;
    }
    if (text.charCodeAt(at) !== cr || text.charCodeAt(at + 1) !== lf) return undefined;
    passed += text.slice(run, at);
    return { passed, noted };
  }

  #expect(name: string, length: number): void {
    this.#letters[length] = (this.#letters[length] ?? 0) | (1 << (name.charCodeAt(0) & 31));
  }

  #mayBeNoted(text: string, start: number, end: number): boolean {
    const letters = this.#letters[Math.min(end - start, 255)] ?? 0;
    return ((letters >>> (text.charCodeAt(start) & 31)) & 1) === 1;
  }

  #isNoted(name: string): boolean {
    if (this.#names.has(name)) return true;
    return this.#prefix !== undefined && name.startsWith(this.#prefix);
  }
}

/** Without the lines of these names, which are in lower case. A head may have thousands of both. */
export function withoutNames(lines: string, names: readonly string[]): string {
  const dropped = new Set(names);
  const kept = lines
    .split('\r\n')
    .filter((line) => !dropped.has(line.slice(0, line.indexOf(':')).toLowerCase()));
  return kept.join('\r\n');
}

/** Of a line that passes: its value, if there is one of that name. */
export function valueIn(lines: string, name: string): string | undefined {
  return new RegExp(`^${name}:[\\t ]*(.*?)[\\t ]*\\r$`, 'im').exec(lines)?.[1];
}

/** The members of a list such as that of `Connection`, in lower case; empty ones count for nothing (RFC 9110, 5.6.1.2). */
export function membersOf(list: string): string[] {
  const members = list.split(',').map((member) => member.trim().toLowerCase());
  return members.filter((member) => member !== '');
}

/** Without the white space around it, of which nothing else counts. */
function valueOf(text: string, start: number, end: number): string {
  let [from, to] = [start, end];
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

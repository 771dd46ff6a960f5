/** Owns where a statement of SQL ends: at a semicolon outside quotes and comments. */

/**
 * The parts that may hold a semicolon, and the semicolon itself. `endOf` finds the end of `$` quotes and
 * comments.
 */
const parts =
  /(?<!\w)[eE]'(?:[^'\\]|\\[^]|'')*(?:'|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|(?<![\w$])\$(?:[A-Za-z_]\w*)?\$|--[^\n]*|\/\*|;/g;
/** The mark that the prompt shows for an open part, by the part's first character. */
const marks: Readonly<Record<string, string>> = { e: "'", E: "'", '/': '*' };

export class StatementReader {
  #text = '';
  /** The text before this position has no open part. */
  #readTo = 0;

  get isPending(): boolean {
    return this.#text.trim() !== '';
  }

  /** The mark that the prompt shows for an open part: `'`, `"`, `$`, `*` or `-`. */
  get mark(): string {
    const first = this.#text[this.#readTo] ?? '-';
    return marks[first] ?? first;
  }

  /** The statements that end in this line, without their semicolons. */
  push(line: string): string[] {
    this.#text += `${line}\n`;
    const text = this.#text;
    const ended: string[] = [];
    let begin = 0;
    let readTo = text.length;
    for (let part = partAt(text, this.#readTo); part !== null;) {
      const end = endOf(text, part);
      if (end === text.length) {
        // The part is still open: a part that is closed in this line ends before its line end.
        readTo = part.index;
        break;
      }
      if (part[0] === ';') {
        const statement = text.slice(begin, part.index).trim();
        if (statement !== '') ended.push(statement);
        begin = end;
      }
      part = partAt(text, end);
    }
    this.#text = text.slice(begin);
    this.#readTo = readTo - begin;
    if (!this.isPending) this.flush();
    return ended;
  }

  /** The unfinished statement, which is then forgotten. */
  flush(): string {
    const text = this.#text.trim();
    this.#text = '';
    this.#readTo = 0;
    return text;
  }
}

function partAt(text: string, from: number): RegExpExecArray | null {
  parts.lastIndex = from;
  return parts.exec(text);
}

/** The position after the part; the end of the text when the part is open. */
function endOf(text: string, { 0: part, index }: RegExpExecArray): number {
  const begin = index + part.length;
  if (part.startsWith('$')) {
    const end = text.indexOf(part, begin);
    return end === -1 ? text.length : end + part.length;
  }
  if (part !== '/*') return begin;
  // Comments are nested, as in PostgreSQL.
  let depth = 1;
  for (const { 0: mark, index: at } of text.slice(begin).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return begin + at + mark.length;
  }
  return text.length;
}

/** Owns where a statement of SQL ends: at a semicolon that stands in no quotes and no comment. */

/** What may hold a semicolon, each up to its end where that is plain, and the semicolon itself. */
const parts =
  /(?<!\w)[eE]'(?:[^'\\]|\\[^]|'')*(?:'|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|(?<![\w$])\$(?:[A-Za-z_]\w*)?\$|--[^\n]*|\/\*|;/g;
/** What the prompt shows of what is open, by how it begins. */
const marks: Readonly<Record<string, string>> = { e: "'", E: "'", '/': '*' };

export class StatementReader {
  #text = '';
  /** Up to here nothing is open. */
  #readTo = 0;

  get isPending(): boolean {
    return this.#text.trim() !== '';
  }

  /** `'`, `"`, `$`, `*` or `-`: what the prompt shows of what is open. */
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
        // It is open: what ends in this line has the line's end behind it.
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

  /** What was begun and not ended; it is forgotten. */
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

/** Behind the part; the end of the text where it is open. */
function endOf(text: string, { 0: part, index }: RegExpExecArray): number {
  const begin = index + part.length;
  if (part.startsWith('$')) {
    const end = text.indexOf(part, begin);
    return end === -1 ? text.length : end + part.length;
  }
  if (part !== '/*') return begin;
  // Comments are nested, as PostgreSQL has them.
  let depth = 1;
  for (const { 0: mark, index: at } of text.slice(begin).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return begin + at + mark.length;
  }
  return text.length;
}

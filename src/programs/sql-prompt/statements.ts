/**
 * Owns where a statement of SQL ends: at a semicolon that stands in no quotes and no comment.
 *
 * 1. However the text is cut into lines, the statements are the same.
 */

type Inside =
  | { kind: 'plain' }
  /** `'…'` or `"…"`; `escapes` where a backslash takes the meaning of what follows. */
  | { kind: 'quote'; mark: string; escapes: boolean }
  /** `$tag$…$tag$`. */
  | { kind: 'dollar'; tag: string }
  | { kind: 'line-comment' }
  /** Nested, as PostgreSQL has them. */
  | { kind: 'comment'; depth: number };

const plain: Inside = { kind: 'plain' };

export class StatementReader {
  #text = '';
  #inside: Inside = plain;

  /** Whether a statement has begun. */
  get isPending(): boolean {
    return this.#text.trim() !== '';
  }

  /** `'`, `"`, `$`, `*` or `-`: what the prompt shows of what is open. */
  get mark(): string {
    switch (this.#inside.kind) {
      case 'quote':
        return this.#inside.mark;
      case 'dollar':
        return '$';
      case 'comment':
        return '*';
      case 'plain':
      case 'line-comment':
        return '-';
    }
  }

  /** The statements that end in this line, without their semicolons. */
  push(line: string): string[] {
    const ended: string[] = [];
    const text = `${line}\n`;
    for (let at = 0; at < text.length;) {
      if (this.#inside.kind === 'plain' && text[at] === ';') {
        if (this.isPending) ended.push(this.#text.trim());
        this.#text = '';
        at += 1;
        continue;
      }
      const length = this.#step(text, at);
      this.#text += text.slice(at, at + length);
      at += length;
    }
    if (!this.isPending && this.#inside.kind === 'plain') this.#text = '';
    return ended;
  }

  /** What was begun and not ended; it is forgotten. */
  flush(): string {
    const text = this.#text.trim();
    this.#text = '';
    this.#inside = plain;
    return text;
  }

  /** Goes one step on: how many characters it takes. */
  #step(text: string, at: number): number {
    const inside = this.#inside;
    switch (inside.kind) {
      case 'plain':
        return this.#begin(text, at);
      case 'quote':
        if (inside.escapes && text[at] === '\\' && text[at + 1] !== '\n') return 2;
        if (text[at] !== inside.mark) return 1;
        if (text[at + 1] === inside.mark) return 2;
        this.#inside = plain;
        return 1;
      case 'dollar':
        if (!text.startsWith(inside.tag, at)) return 1;
        this.#inside = plain;
        return inside.tag.length;
      case 'line-comment':
        if (text[at] === '\n') this.#inside = plain;
        return 1;
      case 'comment':
        if (text.startsWith('/*', at)) this.#inside = { kind: 'comment', depth: inside.depth + 1 };
        else if (text.startsWith('*/', at)) {
          this.#inside = inside.depth === 1 ? plain : { kind: 'comment', depth: inside.depth - 1 };
        } else return 1;
        return 2;
    }
  }

  #begin(text: string, at: number): number {
    const mark = text[at] ?? '';
    const before = at > 0 ? text[at - 1] : this.#text.at(-1);
    if (mark === "'" || mark === '"') {
      const escapes = mark === "'" && /[eE]/.test(before ?? '') && !this.#isNameBefore(text, at);
      this.#inside = { kind: 'quote', mark, escapes };
      return 1;
    }
    if (text.startsWith('--', at)) this.#inside = { kind: 'line-comment' };
    else if (text.startsWith('/*', at)) {
      this.#inside = { kind: 'comment', depth: 1 };
      return 2;
    } else if (mark === '$' && !/[A-Za-z0-9_$]/.test(before ?? '')) {
      const tag = /^\$(?:[A-Za-z_][A-Za-z0-9_]*)?\$/.exec(text.slice(at))?.[0];
      if (tag !== undefined) {
        this.#inside = { kind: 'dollar', tag };
        return tag.length;
      }
    }
    return 1;
  }

  /** Whether the letter before a quote is the end of a longer name. */
  #isNameBefore(text: string, at: number): boolean {
    const two = at > 1 ? text[at - 2] : at === 1 ? this.#text.at(-1) : this.#text.at(-2);
    return /[A-Za-z0-9_]/.test(two ?? '');
  }
}

/** Owns the log of a restore: its last lines, and how many came before them. */

const linesMax = 500;
const lineMax = 500;

export interface LogPart {
  lines: string[];
  /** The number of the first of them; lines before it, which were asked for, are not kept. */
  first: number;
}

export class RestoreLog {
  #lines: string[];
  #dropped: number;

  constructor({ log, logDropped }: { log: readonly string[]; logDropped: number }) {
    this.#lines = [...log];
    this.#dropped = logDropped;
  }

  /** What is stored of it. */
  get stored(): { log: string[]; logDropped: number } {
    return { log: [...this.#lines], logDropped: this.#dropped };
  }

  /** Takes words of programs: each of their lines is one here, cut, and without control characters. */
  add(text: string): void {
    for (const line of text.split(/\r\n|[\r\n]/)) {
      const plain = line
        .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g, '')
        .trimEnd();
      if (plain !== '') this.#lines.push(plain.slice(0, lineMax));
    }
    const surplus = Math.max(0, this.#lines.length - linesMax);
    this.#lines.splice(0, surplus);
    this.#dropped += surplus;
  }

  from(number: number): LogPart {
    const first = Math.max(number, this.#dropped);
    return { lines: this.#lines.slice(first - this.#dropped), first };
  }
}

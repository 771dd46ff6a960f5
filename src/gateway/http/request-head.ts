/** Owns what is kept of a request's head, as plain data. */

/** A head as plain data: the query and the fields. */
export class RequestHead {
  /** Raw, without the question mark. */
  readonly query: string;
  /** Name, value, name, value, and so on, as they came; names in lower case. */
  readonly fields: readonly string[];

  constructor(query: string, fields: readonly string[]) {
    this.query = query;
    this.fields = fields;
  }

  /** A header by its lower-case name; '' when absent; repeats joined (cookies by "; "). */
  header(name: string): string {
    const { fields } = this;
    let found = '';
    let count = 0;
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] !== name) continue;
      const value = fields[i + 1] ?? '';
      found = count++ === 0 ? value : `${found}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return found;
  }

  headerCount(name: string): number {
    const { fields } = this;
    let count = 0;
    for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) count += 1;
    return count;
  }
}

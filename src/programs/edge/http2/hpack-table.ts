/** Owns the tables of HPACK (RFC 7541, 2.3): the static one, and the one that a client fills. */

export interface Field {
  readonly name: string;
  readonly value: string;
}

/** RFC 7541, Appendix A: from index 1 on. */
export const staticTable: readonly Field[] = [
  [':authority'],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  ...['200', '204', '206', '304', '400', '404', '500'].map((status) => [':status', status]),
  ['accept-charset'],
  ['accept-encoding', 'gzip, deflate'],
  ...['accept-language', 'accept-ranges', 'accept', 'access-control-allow-origin', 'age'],
  ...['allow', 'authorization', 'cache-control', 'content-disposition', 'content-encoding'],
  ...['content-language', 'content-length', 'content-location', 'content-range', 'content-type'],
  ...['cookie', 'date', 'etag', 'expect', 'expires', 'from', 'host', 'if-match'],
  ...['if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified'],
  ...['link', 'location', 'max-forwards', 'proxy-authenticate', 'proxy-authorization', 'range'],
  ...['referer', 'refresh', 'retry-after', 'server', 'set-cookie', 'strict-transport-security'],
  ...['transfer-encoding', 'user-agent', 'vary', 'via', 'www-authenticate'],
].map((entry) => {
  const [name = '', value = ''] = typeof entry === 'string' ? [entry] : entry;
  return { name, value };
});

/** What an entry takes besides its characters (RFC 7541, 4.1), and the least of all. */
const entryBytes = 32;

/** What a table holds until it is agreed otherwise (RFC 9113, 6.5.2). */
export const tableBytes = 4096;

export function sizeOf({ name, value }: Field): number {
  return name.length + value.length + entryBytes;
}

export class DynamicTable {
  /** The bound that was agreed on; a client may choose a lower one. */
  readonly sizeMax: number;
  #max: number;
  #size = 0;
  /** A ring: there are no more entries than fit if they are empty. */
  readonly #entries: (Field | undefined)[];
  #newest = 0;
  #count = 0;

  constructor(sizeMax: number) {
    this.sizeMax = sizeMax;
    this.#max = sizeMax;
    this.#entries = new Array<Field | undefined>(Math.floor(sizeMax / entryBytes)).fill(undefined);
  }

  /** `index`: 0 is the newest. */
  at(index: number): Field | undefined {
    if (index >= this.#count) return undefined;
    return this.#entries[this.#slot(index)];
  }

  /** One that is larger than the table empties it. */
  add(field: Field): void {
    const size = sizeOf(field);
    this.#shrinkTo(this.#max - size);
    if (size > this.#max) return;
    this.#newest = this.#slot(-1);
    this.#entries[this.#newest] = field;
    this.#count++;
    this.#size += size;
  }

  resize(max: number): void {
    this.#max = max;
    this.#shrinkTo(max);
  }

  #shrinkTo(size: number): void {
    while (this.#count > 0 && this.#size > size) {
      const oldest = this.#slot(--this.#count);
      const field = this.#entries[oldest];
      if (field !== undefined) this.#size -= sizeOf(field);
      this.#entries[oldest] = undefined;
    }
  }

  #slot(index: number): number {
    const { length } = this.#entries;
    return (this.#newest + index + length) % length;
  }
}

/**
 * Owns what is kept of a request's head: the library's own request object is dead once the handler
 * has returned, so names and values are copied in one pass, which also reads the framing.
 */
import { readFraming, type Framing } from './framing.ts';
import type { HttpRequest } from './uws.ts';

export interface RequestHead {
  /** Raw, without the question mark. */
  readonly query: string;
  /** A header by its lower-case name; '' when absent; repeats joined (cookies by "; "). */
  header(name: string): string;
  headerCount(name: string): number;
}

export class CopiedHead implements RequestHead {
  readonly framing: Framing;
  readonly query: string;
  /** Of the request line and all fields, about as the client sent them. */
  readonly bytes: number;
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  constructor(request: HttpRequest, path: string) {
    this.query = queryOf(request);
    let bytes = path.length + this.query.length + 16;
    request.forEach((name, value) => {
      this.#names.push(name);
      this.#values.push(value);
      bytes += name.length + value.length + 4;
    });
    this.bytes = bytes;
    this.framing = readFraming(
      this.#all('content-length'),
      this.#all('transfer-encoding'),
      this.headerCount('host'),
    );
  }

  header(name: string): string {
    const first = this.#names.indexOf(name);
    if (first === -1) return '';
    const value = this.#values[first] ?? '';
    if (!this.#names.includes(name, first + 1)) return value;
    return this.#all(name).join(name === 'cookie' ? '; ' : ', ');
  }

  headerCount(name: string): number {
    let count = 0;
    for (const one of this.#names) if (one === name) count += 1;
    return count;
  }

  #all(name: string): string[] {
    return this.#values.filter((_, index) => this.#names[index] === name);
  }
}

/** The library's types promise a text; without a question mark it is undefined. */
function queryOf(request: HttpRequest): string {
  const query: unknown = request.getQuery();
  return typeof query === 'string' ? query : '';
}

/**
 * Owns what is kept of a request's head, and copying it: the library's request object is valid only until
 * the handler returns. Names and values are copied in one pass, which also reads the framing.
 */
import { readFraming, type Framing } from './framing.ts';
import type { HttpRequest } from '../uws.ts';

/** A head as plain data. */
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

/** A head, and what the same pass found. */
export class CopiedHead extends RequestHead {
  readonly framing: Framing;
  /** Of the request line and all fields, about as the client sent them. */
  readonly bytes: number;

  constructor(query: string, fields: readonly string[], bytes: number, framing: Framing) {
    super(query, fields);
    this.bytes = bytes;
    this.framing = framing;
  }
}

const nothing: readonly string[] = Object.freeze([]);

/** Copies one head after the other with the same callback. */
export class HeadReader {
  #fields: string[] = [];
  #bytes = 0;
  #hosts = 0;
  #lengths = nothing;
  #encodings = nothing;
  readonly #take = (name: string, value: string): void => {
    this.#fields.push(name, value);
    this.#bytes += name.length + value.length + 4;
    if (name === 'host') this.#hosts += 1;
    else if (name === 'content-length') this.#lengths = [...this.#lengths, value];
    else if (name === 'transfer-encoding') this.#encodings = [...this.#encodings, value];
  };

  read(request: HttpRequest, path: string): CopiedHead {
    const query = queryOf(request);
    this.#fields = [];
    this.#bytes = path.length + query.length + 16;
    this.#hosts = 0;
    this.#lengths = this.#encodings = nothing;
    request.forEach(this.#take);
    const framing = readFraming(this.#lengths, this.#encodings, this.#hosts);
    return new CopiedHead(query, this.#fields, this.#bytes, framing);
  }
}

/** Looks at heads without copying them. */
export class PlainHeads {
  #hosts = 0;
  #framed = false;
  readonly #lookAt = (name: string): void => {
    if (name === 'host') this.#hosts += 1;
    else if (name === 'content-length' || name === 'transfer-encoding') this.#framed = true;
  };

  /** Whether a request has no body and one Host. Then its framing needs no check. */
  isPlain(request: HttpRequest): boolean {
    this.#hosts = 0;
    this.#framed = false;
    request.forEach(this.#lookAt);
    return this.#hosts === 1 && !this.#framed;
  }
}

/** Despite the library's types, the query is undefined when the address has no question mark. */
function queryOf(request: HttpRequest): string {
  const query: unknown = request.getQuery();
  return typeof query === 'string' ? query : '';
}

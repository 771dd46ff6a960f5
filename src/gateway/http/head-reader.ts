/**
 * Owns copying a request's head: the library's own request object is dead once the handler has
 * returned, so names and values are copied in one pass, which also reads the framing.
 */
import { readFraming, type Framing } from './framing.ts';
import { RequestHead } from './request-head.ts';
import type { HttpRequest } from '../uws.ts';

/** A head, and what was read on the way. */
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

/** Copies heads one after the other; one callback serves all of them. */
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

/** The library's types promise a text; without a question mark it is undefined. */
function queryOf(request: HttpRequest): string {
  const query: unknown = request.getQuery();
  return typeof query === 'string' ? query : '';
}

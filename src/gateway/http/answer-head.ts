/**
 * Owns the head of an answer: one block of text for all fields, so that the native library is called
 * once and not once a field.
 *
 * 1. No value can end a line: control characters become spaces. A name that is no token is a bug.
 */
import { STATUS_CODES } from 'node:http';
import type { Headers } from '../transport.ts';

/** A block in two parts, which the library joins by ": ": the first name, and the rest. */
export interface HeadBlock<T = string | Uint8Array> {
  first: T;
  rest: T;
}

/** Fields of every answer; a handler's own value of the same field takes precedence. */
export const securityHeaders: Headers = Object.freeze({
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
});

const lowerSecurityNames = Object.keys(securityHeaders).map((name) => name.toLowerCase());
const allSecurityHeaders = headerLines(securityHeaders);

export function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}

/** `Name: value` lines with CRLF between and none at the end; '' for none. */
function headerLines(headers: Headers): string {
  let lines = '';
  for (const name in headers) {
    const line = headerLine(name, headers[name] ?? '');
    lines = lines === '' ? line : `${lines}\r\n${line}`;
  }
  return lines;
}

export function headerLine(name: string, value: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    throw new Error('Cannot send a header: its name is no token');
  }
  return `${name}: ${value.replace(/\p{Cc}/gu, ' ')}`;
}

/** The fields of an answer: those that suit every answer, then `headers`. */
export function answerLines(headers: Headers): string {
  const own = headerLines(headers);
  return `${missingSecurityLines(headers)}${own && `\r\n${own}`}`;
}

/** The security fields that `headers` does not set itself. */
function missingSecurityLines(headers: Headers): string {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  if (!lowerSecurityNames.some((name) => names.includes(name))) return allSecurityHeaders;
  return Object.entries(securityHeaders)
    .filter(([name]) => !names.includes(name.toLowerCase()))
    .map(([name, value]) => headerLine(name, value))
    .join('\r\n');
}

/**
 * A block of the request's id and of fields that never change, as bytes. The id is written into it for
 * each answer, and the library copies it at once.
 */
export class IdBlock implements HeadBlock<Uint8Array> {
  readonly first: Uint8Array = Buffer.from('X-Request-Id');
  readonly #lines: string;
  #idLength = 0;
  #rest = Buffer.alloc(0);

  constructor(lines: string) {
    this.#lines = lines;
  }

  get rest(): Uint8Array {
    return this.#rest;
  }

  setId(id: string): void {
    if (id.length === this.#idLength) this.#rest.write(id, 0, 'latin1');
    else this.#rest = Buffer.from(`${id}\r\n${this.#lines}`);
    this.#idLength = id.length;
  }
}

/** Keeps the blocks of headers that never change. */
export class HeadBlocks {
  readonly #fixed = new WeakMap<Headers, HeadBlock>();
  readonly #withId = new WeakMap<Headers, IdBlock>();

  /** The fields alone. */
  fixed(headers: Headers): HeadBlock {
    let block = this.#fixed.get(headers);
    if (block === undefined) {
      block = toFixedBlock(headerLines(headers));
      if (Object.isFrozen(headers)) this.#fixed.set(headers, block);
    }
    return block;
  }

  /** The request's id, the security fields and these fields; undefined when they may change. */
  withId(headers: Headers, id: string): HeadBlock | undefined {
    let block = this.#withId.get(headers);
    if (block === undefined) {
      if (!Object.isFrozen(headers)) return undefined;
      block = new IdBlock(answerLines(headers));
      this.#withId.set(headers, block);
    }
    block.setId(id);
    return block;
  }
}

/** Splits lines as the library wants them. */
export function toBlock(lines: string): HeadBlock<string> {
  const colon = lines.indexOf(': ');
  return { first: lines.slice(0, colon), rest: lines.slice(colon + 2) };
}

/** The same as bytes, for a block that is used again. */
function toFixedBlock(lines: string): HeadBlock<Uint8Array> {
  const { first, rest } = toBlock(lines);
  return { first: Buffer.from(first), rest: Buffer.from(rest) };
}

/**
 * Owns the head of an answer: one block of text for all fields, so that the native boundary is
 * crossed once and not once per field.
 *
 * 1. No value can end a line: control characters become spaces, and a name that is no token is a bug.
 */
import { STATUS_CODES } from 'node:http';
import type { Headers } from './contract.ts';

/** A block in the two parts the library joins by ": ": the first name, and all that follows. */
export interface HeadBlock<T = string | Uint8Array> {
  first: T;
  rest: T;
}

/** What suits every answer of an API; a handler's own value of the same field takes its place. */
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
export function headerLines(headers: Headers): string {
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

/** The security fields that `headers` does not set itself. */
export function missingSecurityLines(headers: Headers): string {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  if (!lowerSecurityNames.some((name) => names.includes(name))) return allSecurityHeaders;
  return Object.entries(securityHeaders)
    .filter(([name]) => !names.includes(name.toLowerCase()))
    .map(([name, value]) => headerLine(name, value))
    .join('\r\n');
}

/** Splits lines as the library wants them. */
export function toBlock(lines: string): HeadBlock<string> {
  const colon = lines.indexOf(': ');
  return { first: lines.slice(0, colon), rest: lines.slice(colon + 2) };
}

/** The same as bytes, for blocks that are sent again and again. */
export function toFixedBlock(lines: string): HeadBlock<Uint8Array> {
  const { first, rest } = toBlock(lines);
  return { first: Buffer.from(first), rest: Buffer.from(rest) };
}

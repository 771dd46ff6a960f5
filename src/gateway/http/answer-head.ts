/**
 * Owns the head of an answer: one block of text for all fields, so that the native library is called
 * once and not once a field.
 *
 * 1. No value can end a line: control characters become spaces. A name that is no token is a bug.
 */
import { STATUS_CODES } from 'node:http';
import type { Headers } from '../transport.ts';

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
export function headerLines(headers: Headers): string {
  return Object.entries(headers)
    .map(([name, value]) => headerLine(name, value))
    .join('\r\n');
}

export function headerLine(name: string, value: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    throw new Error('Cannot send a header: its name is no token');
  }
  return `${name}: ${value.replace(/\p{Cc}/gu, ' ')}`;
}

/** The fields of an answer: those that suit every answer, then `headers`. */
function answerLines(headers: Headers): string {
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

/** The fields of answers; of headers that never change they are kept. */
export class AnswerLines {
  readonly #kept = new WeakMap<Headers, string>();

  of(headers: Headers): string {
    const known = this.#kept.get(headers);
    if (known !== undefined) return known;
    const lines = answerLines(headers);
    if (Object.isFrozen(headers)) this.#kept.set(headers, lines);
    return lines;
  }
}

/** Splits lines as the library wants them: it joins the first name and the rest by ": ". */
export function splitLines(lines: string): { first: string; rest: string } {
  const colon = lines.indexOf(': ');
  return { first: lines.slice(0, colon), rest: lines.slice(colon + 2) };
}

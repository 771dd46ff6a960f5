/**
 * Owns which fields of HTTP/2 are a request (RFC 9113, 8.2 and 8.3). It is read as the head of HTTP/1.1 that it becomes
 * for the app, by the same rules.
 */
import { passedTrailers } from '../http1/body-reader.ts';
import { readRequestHead, type RequestHead } from '../http1/request-head.ts';
import type { Field } from './hpack-table.ts';

export interface Request {
  head: RequestHead;
  /** Its body comes once it is told to go on. The app is not told so. */
  expectsContinue: boolean;
}

const colon = 58;
const nameForm = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** There is no other form of a target here. */
const pathForm = /^(?:\/|\*$)/;
/** What would begin a line of its own. */
const lineEnd = /[\0\r\n]/;

/** Undefined: it can be no request. `endsHere`: nothing follows its head. */
export function readRequest(fields: readonly Field[], endsHere: boolean): Request | undefined {
  let [method, path, scheme, authority, host]: (string | undefined)[] = [];
  let [lines, cookie, length, expects, isBehind] = ['', '', '', false, false];
  for (const { name, value } of fields) {
    const isPseudo = name.charCodeAt(0) === colon;
    if ((isPseudo && isBehind) || lineEnd.test(value)) return undefined;
    isBehind ||= !isPseudo;
    switch (name) {
      case ':method':
        if (method !== undefined) return undefined;
        method = value;
        break;
      case ':path':
        if (path !== undefined) return undefined;
        path = value;
        break;
      case ':scheme':
        if (scheme !== undefined) return undefined;
        scheme = value;
        break;
      case ':authority':
        if (authority !== undefined) return undefined;
        authority = value;
        break;
      case 'host':
        // Two hosts could be taken for either.
        if ((host ?? value) !== value) return undefined;
        host = value;
        break;
      case 'cookie':
        cookie = cookie === '' ? value : `${cookie}; ${value}`;
        break;
      case 'expect':
        // An interim answer is sent here, as soon as the body is wanted.
        expects = value.toLowerCase() === '100-continue';
        break;
      case 'content-length':
        length += lineOf(name, value);
        break;
      default:
        if (isPseudo || isForbidden(name, value)) return undefined;
        lines += lineOf(name, value);
    }
  }
  if (!method || !path || !scheme || !pathForm.test(path)) return undefined;
  host ??= authority;
  if (host === undefined || host !== (authority ?? host)) return undefined;
  if (cookie !== '') lines += `cookie: ${cookie}\r\n`;
  if (!endsHere && length === '') length = 'transfer-encoding: chunked\r\n';
  const head = readRequestHead(
    `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines}${length}\r\n`,
  );
  if (head === undefined || (endsHere && head.body !== 0)) return undefined;
  return { head, expectsContinue: expects && head.body !== 0 };
}

/** The lines that pass on, each with its end; undefined: they can be no trailers. */
export function readTrailers(fields: readonly Field[]): string | undefined {
  let lines = '';
  for (const { name, value } of fields) {
    if (isForbidden(name, value) || lineEnd.test(value)) return undefined;
    lines += lineOf(name, value);
  }
  return passedTrailers(`${lines}\r\n`);
}

/** Of one that would say what becomes of a connection, or cannot be a name. */
function isForbidden(name: string, value: string): boolean {
  switch (name) {
    case 'connection':
    case 'keep-alive':
    case 'proxy-connection':
    case 'transfer-encoding':
    case 'upgrade':
      return true;
    case 'te':
      return value.toLowerCase() !== 'trailers';
    default:
      return !nameForm.test(name);
  }
}

function lineOf(name: string, value: string): string {
  return `${name}: ${value}\r\n`;
}

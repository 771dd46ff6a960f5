/**
 * Owns what the head of a request says, as far as the edge has to know it.
 *
 * 1. Hop-by-hop fields (RFC 9110, 7.6.1) and what a client says of its own way here are not in `fields`,
 *    nor is what an app could take for it, as those do that read `_` for `-`.
 */
import { FieldReader, membersOf, withoutNames } from './fields.ts';
import { type Framing, framingOf } from './framing.ts';

export interface RequestHead {
  readonly method: string;
  /** In the origin form, or as sent where it can have none. */
  readonly target: string;
  /** It is HTTP/1.0: such a client knows no chunks and no interim answers. */
  readonly isOld: boolean;
  /** As sent. */
  readonly host: string;
  /** Lines for the app, each with its end; without `Host` and those of framing. */
  readonly fields: string;
  readonly body: Framing;
  readonly keepsConnection: boolean;
  /** Its body comes once it is told to go on. */
  readonly expectsContinue: boolean;
  readonly isWebSocketUpgrade: boolean;
  /** What the sender says of the client; counts if it is trusted. */
  readonly forwarded: Forwarded | undefined;
  /** What the client calls the request, if that is well-formed. */
  readonly requestId: string | undefined;
}

/** Before the first one. */
export const noHead: RequestHead = {
  method: '',
  target: '',
  isOld: false,
  host: '',
  fields: '',
  body: 0,
  keepsConnection: false,
  expectsContinue: false,
  isWebSocketUpgrade: false,
  forwarded: undefined,
  requestId: undefined,
};

export interface Forwarded {
  for: string;
  proto: string;
  host: string;
}

const forwardedNames = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'];
const reader = new FieldReader(
  [
    ...['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'expect'],
    ...[
      'keep-alive',
      'proxy-connection',
      'te',
      'trailer',
      'forwarded',
      'x-real-ip',
      'x-request-id',
    ],
  ],
  'x-forwarded-',
  true,
);
const requestIdForm = /^[\w.-]{1,128}$/;
/** `Connection` may not name these, because the app needs them. */
const neverDropped = ['cookie'];
const plainOptions: ReadonlySet<string> = new Set(['keep-alive', 'close', 'upgrade', 'te']);
export const requestLine =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])\r\n/;
const absoluteForm = /^https?:\/\/([^/?]+)(.*)$/i;

/** `text`: from the request line to the empty line. Undefined: it is malformed, or two parsers could differ about it. */
export function readRequestHead(text: string): RequestHead | undefined {
  const line = requestLine.exec(text);
  const read = line && reader.read(text, line[0].length);
  // CONNECT asks for a way elsewhere, whatever its target looks like.
  if (!read || line[1] === 'CONNECT') return undefined;
  const isOld = line[3] === '0';
  let host: string | undefined;
  let length: string | undefined;
  let coding: string | undefined;
  let connection: string | undefined;
  let upgrade = '';
  let expects = false;
  let forwarded: Forwarded | undefined;
  let requestId: string | undefined;
  const { noted } = read;
  for (let at = 0; at < noted.length; at += 2) {
    const name = noted[at] ?? '';
    const value = noted[at + 1] ?? '';
    switch (name) {
      case 'host':
        if (host !== undefined) return undefined;
        host = value;
        break;
      case 'content-length':
        if (length !== undefined) return undefined;
        length = value;
        break;
      case 'transfer-encoding':
        if (coding !== undefined) return undefined;
        coding = value;
        break;
      case 'connection':
        connection = connection === undefined ? value : `${connection},${value}`;
        break;
      case 'upgrade':
        upgrade = value;
        break;
      case 'expect':
        expects = value.toLowerCase() === '100-continue';
        break;
      case 'x-request-id':
        requestId = requestId === undefined ? value : '';
        break;
      default:
        if (forwardedNames.includes(name)) forwarded = withForwarded(forwarded, name, value);
    }
  }
  // HTTP/1.0 has no codings; what is in front of such a client may frame by the length.
  if (host === undefined || (isOld && coding !== undefined)) return undefined;
  const body = framingOf(length, coding, 0);
  if (body === undefined) return undefined;
  const options = connection === undefined ? none : membersOf(connection);
  const method = line[1] ?? '';
  return {
    method,
    target: originForm(method, line[2] ?? '', host),
    isOld,
    host,
    fields: passedOn(read.passed, options),
    body,
    keepsConnection: isOld ? options.includes('keep-alive') : !options.includes('close'),
    expectsContinue: expects && !isOld && body !== 0,
    isWebSocketUpgrade:
      upgrade.toLowerCase() === 'websocket' &&
      method === 'GET' &&
      body === 0 &&
      !isOld &&
      options.includes('upgrade'),
    forwarded,
    requestId: requestId !== undefined && requestIdForm.test(requestId) ? requestId : undefined,
  };
}

const none: readonly string[] = [];

/** Of the absolute form, too (RFC 9112, 3.2.2), but where that names another host: apps could believe either. */
function originForm(method: string, target: string, host: string): string {
  if (target.startsWith('/')) return target;
  const [, authority, rest = ''] = absoluteForm.exec(target) ?? none;
  if (authority?.toLowerCase() !== host.toLowerCase()) return target;
  if (rest === '' && method === 'OPTIONS') return '*';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function withForwarded(known: Forwarded | undefined, name: string, value: string): Forwarded {
  const forwarded = known ?? { for: '', proto: '', host: '' };
  if (name.endsWith('for')) forwarded.for += `,${value}`;
  else if (name.endsWith('proto')) forwarded.proto = value;
  else forwarded.host = value;
  return forwarded;
}

function passedOn(lines: string, options: readonly string[]): string {
  const named = options.filter((name) => !plainOptions.has(name) && !neverDropped.includes(name));
  return named.length === 0 ? lines : withoutNames(lines, named);
}

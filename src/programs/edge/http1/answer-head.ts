/**
 * Owns what the head of an app's answer says. An app is a stranger: it may send any bytes.
 *
 * 1. What is read can be written again, and ends for the visitor where it ends for the edge.
 */
import { FieldReader, membersOf, withoutNames } from './fields.ts';
import { type Framing, framingOf } from './framing.ts';

export interface AnswerHead {
  readonly status: number;
  readonly reason: string;
  /** Lines for the visitor, each with its end; without those of framing and of the connection. */
  readonly fields: string;
  /** As the app told, not in `fields`; empty: it did not. */
  readonly date: string;
  /** As told: of a `HEAD` that is the body of the `GET`. */
  readonly body: Framing;
  /** The app says nothing of closing the connection behind it. */
  readonly keepsConnection: boolean;
  /** For how long the app says that it keeps the connection. */
  readonly keepsForS: number | undefined;
  /** The names of trailers that may come; empty: none is announced. */
  readonly trailer: string;
  /** The protocol that it changes to. */
  readonly upgrade: string;
}

const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'];
/** The edge says it, as it told the app. */
const requestId = 'x-request-id';
const reader = new FieldReader([
  ...['content-length', 'transfer-encoding', 'date', requestId],
  ...hopByHop,
]);
const plainOptions: ReadonlySet<string> = new Set(['keep-alive', 'close', 'upgrade']);
export const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n/;

/** `text`: from the status line to the empty line. Undefined: it cannot be passed on. */
export function readAnswerHead(text: string): AnswerHead | undefined {
  const line = statusLine.exec(text);
  const read = line && reader.read(text, line[0].length);
  if (!read) return undefined;
  let length: string | undefined;
  let coding: string | undefined;
  let connection: string | undefined;
  let [date, trailer, upgrade, keepAlive] = ['', '', '', ''];
  const { noted } = read;
  for (let at = 0; at < noted.length; at += 2) {
    const value = noted[at + 1] ?? '';
    switch (noted[at] ?? '') {
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
      case 'date':
        date = value;
        break;
      case 'keep-alive':
        keepAlive = value;
        break;
      case 'trailer':
        trailer = value;
        break;
      case 'upgrade':
        upgrade = value;
    }
  }
  const status = Number(line[2]);
  const isOld = line[1] === '0';
  const body = bodyOf(status, isOld, length, coding);
  if (body === undefined) return undefined;
  const options = connection === undefined ? none : membersOf(connection);
  const named = options.filter((name) => !plainOptions.has(name));
  const timeout = keepAlive === '' ? undefined : /\btimeout=(\d{1,6})\b/i.exec(keepAlive)?.[1];
  return {
    status,
    reason: line[3] ?? '',
    fields: named.length === 0 ? read.passed : withoutNames(read.passed, named),
    date,
    body,
    keepsConnection: isOld ? options.includes('keep-alive') : !options.includes('close'),
    keepsForS: timeout === undefined ? undefined : Number(timeout),
    trailer,
    upgrade,
  };
}

const none: readonly string[] = [];

function bodyOf(
  status: number,
  isOld: boolean,
  length: string | undefined,
  coding: string | undefined,
): Framing | undefined {
  if (isOld && coding !== undefined) return undefined;
  const told = framingOf(length, coding, 'until-close');
  // RFC 9112, 6.3: these have none, whatever they say.
  return told !== undefined && (status < 200 || status === 204) ? 0 : told;
}

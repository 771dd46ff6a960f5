/**
 * Owns the messages of GraphQL over WebSocket as text: the subprotocol `graphql-transport-ws`. Pure.
 *
 * Source: https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
 */
import { isObject } from './json-rpc.ts';

export const graphqlTransportWs = 'graphql-transport-ws';

/** Why a socket is closed: codes of the protocol, and of RFC 6455, section 7.4. */
export const closeCodes = {
  goingAway: 1001,
  internalError: 1011,
  tryAgainLater: 1013,
  badRequest: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  subprotocolNotAcceptable: 4406,
  initialisationTimeout: 4408,
  subscriberExists: 4409,
  tooManyInitialisations: 4429,
} as const;

export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];

export type ClientMessage =
  | { type: 'connection_init'; payload: Readonly<Record<string, unknown>> }
  | { type: 'ping' }
  | { type: 'pong' }
  | { type: 'subscribe'; id: string; payload: Readonly<Record<string, unknown>> }
  | { type: 'complete'; id: string };

const idCharsMax = 128;
const reasonBytesMax = 123;

/** Null for what is no message of the protocol. */
export function readMessage(text: string): ClientMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own words would quote the message.
    return null;
  }
  return isObject(value) ? messageOf(value) : null;
}

function messageOf({ type, id, payload }: Record<string, unknown>): ClientMessage | null {
  if (payload != null && !isObject(payload)) return null;
  switch (type) {
    case 'connection_init':
      return { type, payload: payload ?? {} };
    case 'ping':
    case 'pong':
      return { type };
    case 'subscribe':
      return isId(id) && payload != null ? { type, id, payload } : null;
    case 'complete':
      return isId(id) ? { type, id } : null;
    default:
      return null;
  }
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= idCharsMax;
}

export const ackMessage = '{"type":"connection_ack"}';
export const pongMessage = '{"type":"pong"}';

/** A result, which is JSON already. */
export function nextMessage(id: string, json: string): string {
  return `{"id":${JSON.stringify(id)},"type":"next","payload":${json}}`;
}

/** The end of what failed; `errors` is a list of GraphQL errors. */
export function errorMessage(id: string, errors: unknown): string {
  return JSON.stringify({ id, type: 'error', payload: errors });
}

export function completeMessage(id: string): string {
  return JSON.stringify({ id, type: 'complete' });
}

/** As much of a sentence as a close frame holds. */
export function closeReason(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= reasonBytesMax) return text;
  return new TextDecoder().decode(bytes.subarray(0, reasonBytesMax), { stream: true });
}

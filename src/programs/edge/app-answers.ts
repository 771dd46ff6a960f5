/**
 * Owns which answers of an app the edge passes on. An app is a stranger: it may send any bytes.
 *
 * 1. What is passed on can be written again, and ends for the visitor where it ends for the edge.
 * 2. An app that only ever says that it goes on is not waited for.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';

// RFC 9110, 7.6.1. Trailers are not passed on, so nothing announces them.
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);
/** RFC 9112, 4: what a reason phrase may hold. */
const reasonPhrase = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Interim answers of one exchange: as many as an app sends that tells of its progress for long. */
const interimMax = 100;

/**
 * Whether it is a last answer (a 101 that nobody asked for is none), with a head that may be written again
 * and a body that the edge frames as the app did.
 */
export function isPassable({
  statusCode = 0,
  statusMessage = '',
  headers,
}: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return (
    statusCode >= 200 &&
    reasonPhrase.test(statusMessage) &&
    (coding === undefined || coding.toLowerCase() === 'chunked')
  );
}

/** What the visitor is to see: names and values in turn. `version`: of HTTP, that the visitor speaks. */
export function answerHead(
  { headers }: IncomingMessage,
  version: string,
  keepsConnection: boolean,
): (string | string[])[] {
  const isOld = version === '1.0';
  const head: (string | string[])[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || hopByHop.has(name)) continue;
    // Who does not know chunks finds the end by that of the connection.
    if (!isOld || name !== 'transfer-encoding') head.push(name, value);
  }
  const endIsTold = !isOld || headers['content-length'] !== undefined;
  head.push('connection', keepsConnection && endIsTold ? 'keep-alive' : 'close');
  return head;
}

/** Ends the exchange as a failure when there are more interim answers than any app needs. */
export function boundInterim(outgoing: ClientRequest): void {
  let left = interimMax;
  outgoing.on('information', () => {
    if (left-- === 0)
      outgoing.destroy(new Error('Cannot wait for an answer: only interim ones come'));
  });
}

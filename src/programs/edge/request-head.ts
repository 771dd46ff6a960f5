/**
 * Owns what the edge reads from and changes in a request's head before an app sees it.
 *
 * 1. The app learns of the client from the edge alone: the client's own forwarding headers are replaced.
 *    What an app could take for one of them, as servers do that read `_` for `-`, does not pass either.
 * 2. Hop-by-hop headers (RFC 9110, 7.6.1) are not passed on.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

// 'transfer-encoding' stays: it says that there is a body, which is framed again. The edge has answered 'expect'.
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'expect',
  'upgrade',
];
const dropped: ReadonlySet<string> = new Set([...hopByHop, 'forwarded', 'x-real-ip']);
/** Methods by which nobody expects a body. */
const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);
/** A `Connection` header may not name these, because the app needs them. */
const neverDropped = new Set(['host', 'content-length', 'transfer-encoding', 'cookie', 'upgrade']);

/** Lower-case name without port; undefined when the request names no host, or more than one. */
export function readHost(req: IncomingMessage): string | undefined {
  const hosts = req.headersDistinct['host'];
  const host = hosts?.[0];
  if (hosts?.length !== 1 || host === undefined) return undefined;
  const match = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])\.?(?::\d{1,5})?$/i.exec(host);
  return match?.[1]?.toLowerCase().replace(/\.$/, '');
}

export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Whether a client may get the next answer over the same connection. */
export function keepsConnection(req: IncomingMessage): boolean {
  const tokens = connectionTokens(req.headers);
  return req.httpVersion === '1.0' ? tokens.includes('keep-alive') : !tokens.includes('close');
}

export function isWebSocketUpgrade(req: IncomingMessage): boolean {
  return (
    req.method === 'GET' &&
    req.headers.upgrade?.toLowerCase() === 'websocket' &&
    connectionTokens(req.headers).includes('upgrade')
  );
}

/** What the app is to see of a plain request: names and values in turn. */
export function requestHead(req: IncomingMessage): (string | string[])[] {
  const head = headOf(req);
  // Some servers wait for a body where its length is not told.
  if (
    !hasBody(req) &&
    req.headers['content-length'] === undefined &&
    !bodiless.has(req.method ?? '')
  )
    head.push('content-length', '0');
  // A chunked body is the last on its connection: its end is what parsers read differently.
  const isLast = req.headers['transfer-encoding'] !== undefined;
  head.push('connection', isLast ? 'close' : 'keep-alive');
  return head;
}

/** The same of one that asks for a WebSocket. */
export function upgradeHead(req: IncomingMessage): IncomingHttpHeaders {
  const head = headOf(req);
  head.push('upgrade', req.headers.upgrade ?? '', 'connection', 'upgrade');
  const headers: IncomingHttpHeaders = {};
  for (let at = 0; at < head.length; at += 2) headers[String(head[at])] = head[at + 1];
  return headers;
}

function headOf({ headers, socket }: IncomingMessage): (string | string[])[] {
  const head: (string | string[])[] = [];
  const named = connectionTokens(headers).filter((name) => !neverDropped.has(name));
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || isOurs(name) || named.includes(name)) continue;
    head.push(name, value);
  }
  const client = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  const proto = 'encrypted' in socket ? 'https' : 'http';
  head.push('x-forwarded-for', client, 'x-forwarded-proto', proto);
  head.push('x-forwarded-host', headers.host ?? '');
  return head;
}

/** Whether it is for the edge to say, or for nobody. */
function isOurs(name: string): boolean {
  return dropped.has(name) || name.startsWith('x-forwarded-') || name.includes('_');
}

function connectionTokens(headers: IncomingHttpHeaders): string[] {
  return (headers.connection ?? '').split(',').map((token) => token.trim().toLowerCase());
}

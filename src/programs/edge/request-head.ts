/**
 * Owns what the edge reads from and changes in a request's head before an app sees it.
 *
 * 1. The app learns of the client from the edge alone: the client's own forwarding headers are replaced.
 *    What an app could take for one of them, as servers do that read `_` for `-`, does not pass either.
 * 2. Hop-by-hop headers (RFC 9110, 7.6.1) are not passed on.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

// 'transfer-encoding' stays: it says that there is a body, and the proxy frames the body again. The edge
// has answered 'expect'.
const hopByHop = ['keep-alive', 'proxy-connection', 'te', 'trailer', 'expect'];
const forwarding = ['forwarded', 'x-real-ip'];
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

/** Changes `req.headers` into what the app is to see. */
export function rewriteHead(req: IncomingMessage): void {
  const { headers } = req;
  const upgrading = isWebSocketUpgrade(req);
  for (const name of connectionTokens(headers)) {
    if (!neverDropped.has(name)) Reflect.deleteProperty(headers, name);
  }
  for (const name of [...hopByHop, ...forwarding]) Reflect.deleteProperty(headers, name);
  for (const name of Object.keys(headers)) {
    if (name.startsWith('x-forwarded-') || name.includes('_'))
      Reflect.deleteProperty(headers, name);
  }
  if (!upgrading) delete headers.upgrade;
  headers.connection = upgrading ? 'upgrade' : 'keep-alive';
  headers['x-forwarded-for'] = (req.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  headers['x-forwarded-proto'] = 'http';
  headers['x-forwarded-host'] = headers.host ?? '';
}

function connectionTokens(headers: IncomingHttpHeaders): string[] {
  return (headers.connection ?? '').split(',').map((token) => token.trim().toLowerCase());
}

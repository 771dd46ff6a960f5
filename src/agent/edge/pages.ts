/** Owns what the edge itself answers when no app does. */
import type { ServerResponse } from 'node:http';

import { http } from './lean-http.ts';

export type EdgeStatus = 400 | 404 | 502 | 503;

const sentences: Readonly<Record<EdgeStatus, string>> = {
  400: 'The request cannot be read.',
  404: 'There is no app at this address.',
  502: 'The app does not answer right now.',
  503: 'The app is not running.',
};

const retryAfterS = 2;

function headersOf(status: EdgeStatus, body: Buffer): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(body.length),
    'cache-control': 'no-store',
    ...(status >= 500 && { 'retry-after': String(retryAfterS) }),
    // Without reading the rest of the request the connection cannot carry another one.
    ...(status === 400 && { connection: 'close' }),
  };
}

function bodyOf(status: EdgeStatus): Buffer {
  const title = `${String(status)} ${http.STATUS_CODES[status] ?? ''}`;
  return Buffer.from(
    `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${sentences[status]}</p>\n`,
  );
}

/** Answers in the app's place; closes the connection when an answer was begun already. */
export function sendPage(res: ServerResponse, status: EdgeStatus): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  const body = bodyOf(status);
  res.writeHead(status, headersOf(status, body));
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

/** The same as raw bytes, for a socket that asked for an upgrade. */
export function rawPage(status: EdgeStatus): Buffer {
  const body = bodyOf(status);
  const lines = Object.entries({ ...headersOf(status, body), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const first = `HTTP/1.1 ${String(status)} ${http.STATUS_CODES[status] ?? ''}\r\n`;
  return Buffer.concat([Buffer.from(`${first}${head}\r\n`), body]);
}

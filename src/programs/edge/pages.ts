/**
 * Owns what the edge itself answers when no app does: a small page, or a line of text for clients that
 * accept no HTML. Any visitor may see it, so it names nothing of the app, its owner or this machine.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Vacancy } from '../../protocol/workload.ts';
import { http } from './lean-http.ts';

export type EdgeStatus = 400 | 404 | 502 | 503;

/** An answer of the edge, and its name in the log. */
export interface Notice {
  status: EdgeStatus;
  sentence: string;
  /** Null: a retry is of no use. */
  retryAfterS: number | null;
  requestId: string;
}

const sentences: Readonly<Record<EdgeStatus, string>> = {
  400: 'The request cannot be read.',
  404: 'There is no app at this address.',
  502: 'The app does not answer right now.',
  503: 'The app is not running.',
};

const vacancies: Readonly<Record<Vacancy, { sentence: string; retryAfterS: number }>> = {
  not_deployed: { sentence: 'This app is not deployed yet.', retryAfterS: 30 },
  first_deployment: {
    sentence: 'This app is being deployed for the first time. Try again in a moment.',
    retryAfterS: 5,
  },
  first_deployment_failed: {
    sentence: 'The first deployment of this app failed. It is not deployed yet.',
    retryAfterS: 30,
  },
  starting: { sentence: 'This app is starting. Try again in a moment.', retryAfterS: 2 },
  ended: {
    sentence: 'This app ended unexpectedly and is being restarted. Try again in a moment.',
    retryAfterS: 2,
  },
  stopped: { sentence: 'This app is stopped.', retryAfterS: 30 },
};

const retryAfterS = 2;
const maintenanceRetryS = 60;

export function noticeOf(status: EdgeStatus): Notice {
  const after = status >= 500 ? retryAfterS : null;
  const requestId = randomBytes(8).toString('hex');
  return { status, sentence: sentences[status], retryAfterS: after, requestId };
}

/** The answer for an app that takes no requests. */
export function vacancyNotice(vacancy: Vacancy | undefined): Notice {
  // A runner of another version may have stored a reason that this version does not know.
  const known = vacancy !== undefined && Object.hasOwn(vacancies, vacancy);
  return { ...noticeOf(503), ...(known && vacancies[vacancy]) };
}

/** The answer while the app's team works on it. `text`: what it wants to say. */
export function maintenanceNotice(text: string | null): Notice {
  const sentence = text ?? 'This app is being maintained. Try again later.';
  return { ...noticeOf(503), sentence, retryAfterS: maintenanceRetryS };
}

/** Answers in the app's place. Closes the connection when an answer was begun already, and is not whole. */
export function sendNotice(res: ServerResponse, notice: Notice): void {
  if (res.writableEnded) return;
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  const { type, body } = contentOf(res.req, notice);
  res.writeHead(notice.status, headersOf(notice, type, body));
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

const crowded = 'There are too many connections from here.\n';

/** For a connection that is refused before it has asked anything. */
export const crowdedAnswer =
  'HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n' +
  `content-length: ${String(crowded.length)}\r\nretry-after: ${String(retryAfterS)}\r\n` +
  `cache-control: no-store\r\nconnection: close\r\n\r\n${crowded}`;

/** The same answer as raw bytes, for a socket that asked for an upgrade. */
export function rawNotice(req: IncomingMessage, notice: Notice): Buffer {
  const { type, body } = contentOf(req, notice);
  const lines = Object.entries({ ...headersOf(notice, type, body), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const first = `HTTP/1.1 ${titleOf(notice)}\r\n`;
  return Buffer.concat([Buffer.from(`${first}${head}\r\n`), body]);
}

/**
 * RFC 9110, 12.5.1: the most specific range that covers HTML decides. Without the header everything is
 * accepted.
 */
export function acceptsHtml(accept: string | undefined): boolean {
  if (accept === undefined) return true;
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  const closest = ['text/html', 'text/*', '*/*'].find((type) => weights.has(type));
  return closest !== undefined && weights.get(closest) !== 0;
}

function headersOf(notice: Notice, type: string, body: Buffer): Record<string, string> {
  const { status, requestId } = notice;
  return {
    'content-type': `${type}; charset=utf-8`,
    'content-length': String(body.length),
    'cache-control': 'no-store',
    vary: 'accept',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    ...(notice.retryAfterS !== null && { 'retry-after': String(notice.retryAfterS) }),
    // The rest of a faulty request is not read, so its connection cannot carry another one.
    ...(status === 400 && { connection: 'close' }),
  };
}

function contentOf(req: IncomingMessage, notice: Notice): { type: string; body: Buffer } {
  const { sentence, requestId } = notice;
  if (!acceptsHtml(req.headers.accept)) {
    return { type: 'text/plain', body: Buffer.from(`${sentence}\nRequest ${requestId}\n`) };
  }
  const title = titleOf(notice);
  const page =
    '<!doctype html><html lang="en"><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width">' +
    `<title>${title}</title><h1>${title}</h1><p>${escaped(sentence)}</p>` +
    `<p><small>Request ${requestId}</small></p></html>\n`;
  return { type: 'text/html', body: Buffer.from(page) };
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${String(sign.charCodeAt(0))};`);
}

function titleOf({ status }: Notice): string {
  return `${String(status)} ${http.STATUS_CODES[status] ?? ''}`;
}

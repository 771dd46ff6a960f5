/**
 * Owns what the edge itself answers when no app does: a small page, JSON or a line of text, as the client accepts.
 * Any visitor may see it, so it tells the app's name and nothing else of it, its owner or this machine.
 */
import { randomUUID } from 'node:crypto';

import type { Vacancy } from '../../protocol/workload.ts';
import { valueIn } from './http1/fields.ts';
import type { RequestHead } from './http1/request-head.ts';
import type { LiveRoute } from './routes.ts';

export type EdgeStatus = 200 | 308 | 400 | 404 | 408 | 413 | 421 | 502 | 503 | 504;

/** An answer of the edge, and its name in the log. */
export interface Notice {
  status: EdgeStatus;
  sentence: string;
  /** Null: a retry is of no use. */
  retryAfterS: number | null;
  requestId: string;
  /** Null: it is about no app. */
  app: string | null;
  /** Where it is to be asked instead. */
  location?: string;
  /** Whether the sentence is the whole answer, for a program. */
  isBare?: true;
}

const titles: Readonly<Record<EdgeStatus, string>> = {
  200: 'OK',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  404: 'Not Found',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  421: 'Misdirected Request',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

const sentences: Readonly<Record<EdgeStatus, string>> = {
  200: '',
  308: 'The app is at another address.',
  400: 'The request cannot be read.',
  404: 'There is no app at this address.',
  408: 'The request did not come in time.',
  413: 'The request is larger than what this app takes.',
  421: 'The connection is not for this host.',
  502: 'The app does not answer right now.',
  503: 'The app is not running.',
  504: 'The app did not answer in time.',
};
/** Of Gangway itself. */
const panelSentences: Readonly<Partial<Record<EdgeStatus, string>>> = {
  413: 'The request is too large.',
  502: 'Gangway does not answer right now.',
  503: 'Gangway is not running.',
  504: 'Gangway did not answer in time.',
};
const uncertified =
  'Gangway is served here over HTTPS alone, and the certificate for that is not there yet.';
const crowdedApp = 'The app has too many visitors at once. Try again in a moment.';

/** The rest of such a request is not read, so its connection carries no other one. */
export const lastStatuses: ReadonlySet<number> = new Set([400, 408, 413]);

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
  panel_away: {
    sentence: 'Gangway is restarting, or is stopped. Try again in a moment.',
    retryAfterS: 2,
  },
};

const retryAfterS = 2;
const maintenanceRetryS = 60;

export function newRequestId(): string {
  return randomUUID();
}

/** `route`: of the app that does not answer; absent: there is none. */
export function noticeOf(
  status: EdgeStatus,
  route?: Pick<LiveRoute, 'app'> & Partial<Pick<LiveRoute, 'panel'>>,
): Notice {
  return {
    status,
    sentence: (route?.panel && panelSentences[status]) ?? sentences[status],
    retryAfterS: status >= 500 ? retryAfterS : null,
    requestId: newRequestId(),
    app: route?.app?.name ?? null,
  };
}

/** The answer to a request that is to be made elsewhere, in the same way. */
export function redirectNotice(location: string): Notice {
  return { ...noticeOf(308), location };
}

/** The answer at the panel's host while that has no certificate. */
export function uncertifiedNotice(): Notice {
  return { ...noticeOf(503), sentence: uncertified, retryAfterS: 30 };
}

/** The answer to a program that asks for nothing else. */
export function bareNotice(text: string): Notice {
  return { ...noticeOf(200), sentence: text, isBare: true };
}

/** The answer for an app that takes no requests. */
export function vacancyNotice(route: Pick<LiveRoute, 'app' | 'vacancy'>): Notice {
  const { vacancy } = route;
  // A runner of another version may have stored a reason that this version does not know.
  const known = vacancy !== undefined && Object.hasOwn(vacancies, vacancy);
  return { ...noticeOf(503, route), ...(known && vacancies[vacancy]) };
}

/** The answer while the app's team works on it. */
export function maintenanceNotice(route: Pick<LiveRoute, 'app' | 'settings'>): Notice {
  const { maintenanceText } = route.settings;
  const sentence = maintenanceText ?? 'This app is being maintained. Try again later.';
  return { ...noticeOf(503, route), sentence, retryAfterS: maintenanceRetryS };
}

/** The answer where as much as its team lets in is with the app. */
export function crowdedNotice(route: Pick<LiveRoute, 'app'>): Notice {
  return { ...noticeOf(503, route), sentence: crowdedApp };
}

const crowded = 'There are too many connections from here.\n';

/** For a connection that is refused before it has asked anything. */
export function crowdedText(date: string): string {
  return (
    `HTTP/1.1 503 Service Unavailable\r\ndate: ${date}\r\ncontent-type: text/plain; charset=utf-8\r\n` +
    `content-length: ${String(crowded.length)}\r\nretry-after: ${String(retryAfterS)}\r\n` +
    `cache-control: no-store\r\nconnection: close\r\n\r\n${crowded}`
  );
}

/** The answer to what is no request. `title`: of its status. */
export function refusalText(title: string, date: string): string {
  return `HTTP/1.1 ${title}\r\ndate: ${date}\r\nconnection: close\r\n\r\n`;
}

/** The answer to a request, as text of one character a byte. */
export function noticeText(
  { method, fields }: Pick<RequestHead, 'method' | 'fields'>,
  notice: Notice,
  date: string,
  keepsConnection: boolean,
): string {
  const { type, body } = contentOf(valueIn(fields, 'accept'), notice);
  const headers = headersOf(notice, type, body);
  headers['connection'] = keepsConnection ? 'keep-alive' : 'close';
  let text = `HTTP/1.1 ${titleOf(notice)}\r\ndate: ${date}\r\n`;
  for (const [name, value] of Object.entries(headers)) text += `${name}: ${value}\r\n`;
  return `${text}\r\n${method === 'HEAD' ? '' : body.toString('latin1')}`;
}

type NoticeType = 'text/html' | 'application/json' | 'text/plain';

/**
 * RFC 9110, 12.5.1: of the ranges that cover a type the most specific decides. Without the header everything is
 * accepted. HTML is preferred, but to what was named where HTML was not.
 */
export function typeFor(accept: string | undefined): NoticeType {
  if (accept === undefined) return 'text/html';
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  const isTaken = (...ranges: string[]): boolean => {
    const closest = ranges.find((range) => weights.has(range));
    return closest !== undefined && weights.get(closest) !== 0;
  };
  if (isTaken('text/html')) return 'text/html';
  if (isTaken('application/json')) return 'application/json';
  if (isTaken('text/html', 'text/*', '*/*')) return 'text/html';
  return isTaken('application/json', 'application/*') ? 'application/json' : 'text/plain';
}

function headersOf(notice: Notice, type: string, body: Buffer): Record<string, string> {
  const { requestId } = notice;
  return {
    'content-type': `${type}; charset=utf-8`,
    'content-length': String(body.length),
    'cache-control': 'no-store',
    vary: 'accept',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    ...(notice.location !== undefined && { location: notice.location }),
    ...(notice.retryAfterS !== null && { 'retry-after': String(notice.retryAfterS) }),
  };
}

function contentOf(accept: string | undefined, notice: Notice): { type: NoticeType; body: Buffer } {
  if (notice.isBare) return { type: 'text/plain', body: Buffer.from(notice.sentence) };
  const type = typeFor(accept);
  return { type, body: Buffer.from(texts[type](notice)) };
}

const texts: Readonly<Record<NoticeType, (notice: Notice) => string>> = {
  'text/html': (notice) => {
    const title = titleOf(notice);
    const app = notice.app === null ? '' : `${escaped(notice.app)}<br>`;
    return (
      '<!doctype html><html lang="en"><meta charset="utf-8">' +
      '<meta name="viewport" content="width=device-width">' +
      `<title>${title}</title><h1>${title}</h1><p>${escaped(notice.sentence)}</p>` +
      `<p><small>${app}Request ${notice.requestId}</small></p></html>\n`
    );
  },
  // Named as in RFC 9457.
  'application/json': ({ status, sentence, app, requestId }) => {
    const title = titles[status];
    return `${JSON.stringify({ status, title, detail: sentence, app, requestId })}\n`;
  },
  'text/plain': ({ sentence, app, requestId }) =>
    `${sentence}\n${app === null ? '' : `App ${app}\n`}Request ${requestId}\n`,
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${String(sign.charCodeAt(0))};`);
}

function titleOf({ status }: Notice): string {
  return `${String(status)} ${titles[status]}`;
}

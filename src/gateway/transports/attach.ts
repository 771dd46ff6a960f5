/**
 * Owns consoles over HTTP: GET opens one or returns to it, POST types and resizes, DELETE closes.
 *
 * 1. GET starts a shell, so the rules for changes apply to it, and no page can open it. The checks run in
 *    this order: the caller (401), the origin (403), the caller's rights (404, 403), the query (400, 404),
 *    the number of consoles (429), whether the workload runs and is reached (409, 503).
 * 2. POST and DELETE work for the opener only. DELETE answers 204 for a closed console too.
 */
import type { ConsoleDoor, NamedConsole } from '../../consoles/console-door.ts';
import { assertContainer } from '../../actors/workload/console-programs.ts';
import { ServiceError } from '../../lib/errors.ts';
import { sseHeaders } from '../../protocol/sse.ts';
import type { Exchange, Route } from '../transport.ts';
import type { Callers, Person } from '../credentials.ts';
import { type AppOrDatabase, resourceAt, type ResourceRights } from '../resources.ts';
import {
  type AttachQuery,
  defaultConsoleSize,
  parseAttachQuery,
  parseConsoleInput,
} from './attach-input.ts';

export interface AttachRoutesOptions extends ResourceRights {
  consoles: ConsoleDoor;
  callers: Pick<Callers, 'cookiePerson'>;
}

type Kind = AppOrDatabase['kind'];

/** The capability that opening a console needs. */
export const consoleCapability = {
  app: 'open_app_console',
  database: 'open_database_console',
} as const;

/** The input of one call, and the most that JSON and the rest of the body may add to it. */
const inputBytes = 64 * 1024;
const bodyBytes = 6 * inputBytes + 4096;

export function attachRoutes(options: AttachRoutesOptions): Route[] {
  return [
    ...routesOf(options, 'app', '/api/apps/:id/attach'),
    ...routesOf(options, 'database', '/api/databases/:id/attach'),
  ];
}

function routesOf(options: AttachRoutesOptions, kind: Kind, path: string): Route[] {
  return [
    { method: 'GET', path, handle: (exchange) => attach(options, kind, exchange) },
    // A console's opening and its end are recorded, never what is typed.
    { method: 'POST', path, audit: null, handle: (exchange) => input(options, kind, exchange) },
    { method: 'DELETE', path, audit: null, handle: (exchange) => close(options, kind, exchange) },
  ];
}

async function attach(options: AttachRoutesOptions, kind: Kind, exchange: Exchange): Promise<void> {
  const { reader, consoles } = options;
  const person = options.callers.cookiePerson(exchange, { changes: true });
  if (/\bnavigate\b/.test(exchange.header('sec-fetch-mode'))) {
    throw new ServiceError('CROSS_SITE', 'A console is no page to go to.');
  }
  const target = { kind, id: exchange.param('id') };
  options.authorize(reader, person, consoleCapability[kind], resourceAt(reader, kind, target.id));
  const query = parseAttachQuery(exchange.query, exchange.header('last-event-id'));
  assertContainer(reader, target, query.container);
  const sessionId = await sessionFor(consoles, { person, target, query, exchange });
  const named = { sessionId, person, target };
  if (exchange.aborted) {
    // Nobody learned the id of the console that was opened for this request.
    if (query.sessionId === null) await consoles.close(named);
    return;
  }
  exchange.onAbort(consoles.watch(named, exchange.stream(200, sseHeaders)));
}

interface Attaching {
  person: Person;
  target: NamedConsole['target'];
  query: AttachQuery;
  exchange: Exchange;
}

async function sessionFor(
  consoles: ConsoleDoor,
  { person, target, query, exchange }: Attaching,
): Promise<string> {
  const { sessionId, size, container, mode } = query;
  if (sessionId !== null) {
    await consoles.admit({ sessionId, person, target }, size);
    return sessionId;
  }
  const { cols, rows } = size ?? defaultConsoleSize;
  const { address } = exchange;
  const userAgent = exchange.header('user-agent');
  return consoles.open({ person, target, container, mode, cols, rows, address, userAgent });
}

async function input(options: AttachRoutesOptions, kind: Kind, exchange: Exchange): Promise<void> {
  const person = options.callers.cookiePerson(exchange, { changes: true });
  const target = { kind, id: exchange.param('id') };
  const wish = parseConsoleInput(await exchange.body(bodyBytes), inputBytes);
  const named = { sessionId: wish.sessionId, person, target };
  if ('size' in wish) await options.consoles.resize(named, wish.size);
  else await options.consoles.write(named, wish.bytes);
  if (!exchange.aborted) exchange.send(204, {}, '');
}

async function close(options: AttachRoutesOptions, kind: Kind, exchange: Exchange): Promise<void> {
  const person = options.callers.cookiePerson(exchange, { changes: true });
  const sessionId = exchange.query.get('sessionId') ?? '';
  if (sessionId === '') {
    throw new ServiceError('BAD_USER_INPUT', 'Name the console: sessionId is its first event.');
  }
  const target = { kind, id: exchange.param('id') };
  const outcome = await options.consoles.close({ sessionId, person, target });
  if (outcome === 'foreign') {
    throw new ServiceError('FORBIDDEN', 'Only who opened a console may close it.');
  }
  if (!exchange.aborted) exchange.send(204, {}, '');
}

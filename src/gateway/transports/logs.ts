/**
 * Owns the log streams over HTTP: GET opens one, DELETE closes it early.
 *
 * 1. In this order: who is calling (401), what it may see (404, 403), what it asks (400, 404
 *    NO_SUCH_CONTAINER), whether the place is reached (503), whether it may have another (429, 503).
 * 2. DELETE answers 204 also for a stream that is gone, whatever became of its app; 403 for one
 *    that somebody else has open.
 */
import { containerLog, containerNames } from '../../actors/app/running/containers.ts';
import { ServiceError } from '../../lib/errors.ts';
import { sseHeaders } from '../../protocol/sse.ts';
import type { Person } from '../../logs/viewers/viewer.ts';
import type { OpenStream, StreamSessions } from '../../logs/viewers/sessions.ts';
import type { CloseOutcome } from '../../logs/viewers/stream-room.ts';
import { appRuns, databaseRuns } from '../../logs/live/running-sources.ts';
import type { Need, Resource } from '../../auth/rights/authorize.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { LogName } from '../../logs/files/log.ts';
import { tables } from '../../store/records/tables.ts';
import type { Exchange, ResponseStream, Route } from '../transport.ts';
import { parseLogQuery } from './log-query.ts';

export interface LogRoutesOptions {
  reader: Reader;
  sessions: StreamSessions;
  /** The person behind the session cookie; throws UNAUTHENTICATED, COOKIE_REQUIRED. */
  authenticate: (exchange: Exchange) => Person;
  authorize: (reader: Reader, principal: Principal, need: Need, resource: Resource) => void;
  /** Throws CROSS_SITE for a request that another site made the browser send. */
  refuseCrossSite: (exchange: Exchange) => void;
  /** Days that logs are kept, when the instance's settings do not say. */
  logMaxDays: number;
  /** Whether the place where things run gives an answer now. */
  placeAnswers: () => Promise<boolean>;
}

const databaseContainer = ['database'] as const;

export function logRoutes(options: LogRoutesOptions): Route[] {
  const closeStream = (exchange: Exchange): void | Promise<void> => close(options, exchange);
  return [
    {
      method: 'GET',
      path: '/api/apps/:id/logs',
      handle: (exchange) => open(options, exchange, appLog),
    },
    { method: 'DELETE', path: '/api/apps/:id/logs', handle: closeStream },
    {
      method: 'GET',
      path: '/api/databases/:id/logs',
      handle: (exchange) => open(options, exchange, databaseLog),
    },
    { method: 'DELETE', path: '/api/databases/:id/logs', handle: closeStream },
  ];
}

/** The log that a path names, and what may be asked of it. */
interface NamedLog {
  id: string;
  /** Of one of its containers; '' is the default. */
  logOf: (container: string) => LogName;
  resource: Resource;
  containers: readonly string[];
  /** Whether anything of it runs, so that there is a place its lines come from. */
  runs: boolean;
}

function appLog(options: LogRoutesOptions, id: string): NamedLog {
  const app = options.reader.get(tables.apps, id);
  if (app === undefined) throw new ServiceError('NOT_FOUND', 'No such app.');
  const containers = containerNames(options.reader, app);
  return {
    id,
    logOf: (container) => containerLog(id, containers, container),
    resource: { kind: 'app', app },
    containers,
    runs: appRuns(app.run),
  };
}

function databaseLog({ reader }: LogRoutesOptions, id: string): NamedLog {
  const database = reader.get(tables.databases, id);
  if (database === undefined) throw new ServiceError('NOT_FOUND', 'No such database.');
  return {
    id,
    logOf: () => `db:${id}`,
    resource: { kind: 'database', database },
    containers: databaseContainer,
    runs: databaseRuns(database.run),
  };
}

function open(
  options: LogRoutesOptions,
  exchange: Exchange,
  find: (options: LogRoutesOptions, id: string) => NamedLog,
): void | Promise<void> {
  const { reader, sessions } = options;
  const person = options.authenticate(exchange);
  const named = find(options, exchange.param('id'));
  options.authorize(reader, person, 'view_logs', named.resource);
  const days = reader.get(tables.instance, 'instance')?.logMaxDays ?? options.logMaxDays;
  const query = parseLogQuery(exchange.query, exchange.header('last-event-id'), days);
  if (query.container !== '' && !named.containers.includes(query.container)) {
    throw new ServiceError('NO_SUCH_CONTAINER', 'There is no container of this name.');
  }
  const { tail, sinceMinutes, after, timestamps, notices } = query;
  const start = { after, tail, sinceMinutes };
  const common = { person, resourceId: named.id, start, timestamps, notices };
  const wanted: OpenStream = { ...common, log: named.logOf(query.container) };
  // What is stopped, or was never deployed, has stored lines and no place that could be away.
  if (!named.runs) return reserve(sessions, wanted, exchange);
  return options.placeAnswers().then((answers) => {
    if (!answers) throw unreachable();
    if (!exchange.aborted) return reserve(sessions, wanted, exchange);
  });
}

function unreachable(): ServiceError {
  const detail = 'What runs this does not answer. Stored lines are in GraphQL: logs, searchLogs.';
  return new ServiceError('AGENT_UNREACHABLE', detail);
}

function reserve(
  sessions: StreamSessions,
  wanted: OpenStream,
  exchange: Exchange,
): void | Promise<void> {
  const { person } = wanted;
  const reserved = sessions.reserve(person);
  if (!(reserved instanceof Promise)) {
    begin(sessions, wanted, exchange);
    return;
  }
  return reserved.then(() => {
    if (exchange.aborted) sessions.giveBack(person);
    else begin(sessions, wanted, exchange);
  });
}

function begin(sessions: StreamSessions, wanted: OpenStream, exchange: Exchange): void {
  const { left } = sessions.open(wanted, streamFor(sessions, wanted, exchange));
  exchange.onAbort(left);
}

function streamFor(
  sessions: StreamSessions,
  { person }: OpenStream,
  exchange: Exchange,
): ResponseStream {
  try {
    return exchange.stream(200, sseHeaders);
  } catch (error) {
    sessions.giveBack(person);
    throw error;
  }
}

function close(options: LogRoutesOptions, exchange: Exchange): void | Promise<void> {
  const person = options.authenticate(exchange);
  options.refuseCrossSite(exchange);
  const sessionId = exchange.query.get('sessionId') ?? '';
  if (sessionId === '') {
    throw new ServiceError('BAD_USER_INPUT', 'Name the stream: sessionId is its first event.');
  }
  const outcome = options.sessions.closeAnywhere(sessionId, person.userId);
  if (outcome instanceof Promise) return outcome.then((settled) => told(settled, exchange));
  told(outcome, exchange);
}

function told(outcome: CloseOutcome, exchange: Exchange): void {
  if (outcome === 'foreign') {
    throw new ServiceError('FORBIDDEN', 'Only who opened a stream may close it.');
  }
  exchange.send(204, {}, '');
}

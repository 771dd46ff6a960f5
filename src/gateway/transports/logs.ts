/**
 * Owns the log streams over HTTP: GET opens one, DELETE closes it early.
 *
 * 1. The checks run in this order: the caller (401), the caller's rights (404, 403), the query (400, 404
 *    NO_SUCH_CONTAINER), whether the server is reached (503), the number of streams (429, 503).
 * 2. DELETE answers 204 for a closed stream too, whatever became of its app; 403 for a stream that somebody
 *    else has open.
 */
import { containerLog, containerNames } from '../../actors/app/running/containers.ts';
import { assertContainer } from '../../actors/workload/console-programs.ts';
import { ServiceError } from '../../lib/errors.ts';
import { sseHeaders } from '../../protocol/sse.ts';
import type { Person } from '../../logs/viewers/viewer.ts';
import type { StreamSessions } from '../../logs/viewers/sessions.ts';
import { appRuns, databaseRuns } from '../../logs/live/running-sources.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { LogName } from '../../logs/files/log.ts';
import { tables } from '../../store/records/tables.ts';
import { type AppOrDatabase, resourceAt, type ResourceRights } from '../resources.ts';
import type { Exchange, Route } from '../transport.ts';
import { parseLogQuery } from './log-query.ts';
import { badInput } from './query-values.ts';

export interface LogRoutesOptions extends ResourceRights {
  sessions: StreamSessions;
  /** The person behind the session cookie; throws UNAUTHENTICATED, COOKIE_REQUIRED. */
  authenticate: (exchange: Exchange) => Person;
  /** Throws CROSS_SITE for a request that another site made the browser send. */
  refuseCrossSite: (exchange: Exchange) => void;
  /** Days that logs are kept, when the instance's settings name none. */
  logMaxDays: number;
  /** Whether what runs the workloads of this server answers now. */
  placeAnswers: (serverId: string) => Promise<boolean>;
}

type Kind = AppOrDatabase['kind'];

export function logRoutes(options: LogRoutesOptions): Route[] {
  return [...routesOf(options, 'app'), ...routesOf(options, 'database')];
}

function routesOf(options: LogRoutesOptions, kind: Kind): Route[] {
  const path = `/api/${kind}s/:id/logs`;
  return [
    { method: 'GET', path, handle: (exchange) => open(options, kind, exchange) },
    { method: 'DELETE', path, handle: (exchange) => close(options, exchange) },
  ];
}

async function open(options: LogRoutesOptions, kind: Kind, exchange: Exchange): Promise<void> {
  const { reader, sessions, authorize } = options;
  const person = options.authenticate(exchange);
  const id = exchange.param('id');
  const resource = resourceAt(reader, kind, id);
  authorize(reader, person, 'view_logs', resource);
  const days = reader.get(tables.instance, 'instance')?.logMaxDays ?? options.logMaxDays;
  const query = parseLogQuery(exchange.query, exchange.header('last-event-id'), days);
  const { tail, sinceMinutes, after, timestamps, notices } = query;
  const log = logOf(reader, resource, query.container);
  // An app that is stopped, or was never deployed, has stored lines only, so no server could be away.
  if (runs(resource) && !(await options.placeAnswers(serverOf(resource)))) {
    const detail = 'What runs this does not answer. Stored lines are in GraphQL: logs, searchLogs.';
    throw new ServiceError('AGENT_UNREACHABLE', detail);
  }
  await sessions.reserve(person);
  if (exchange.aborted) {
    sessions.giveBack(person);
    return;
  }
  const start = { after, tail, sinceMinutes };
  const wanted = { person, resourceId: id, start, timestamps, notices, log };
  exchange.onAbort(sessions.open(wanted, exchange.stream(200, sseHeaders)).left);
}

/** The log of one container, '' for the default: NO_SUCH_CONTAINER. */
function logOf(reader: Reader, resource: AppOrDatabase, container: string): LogName {
  const isApp = resource.kind === 'app';
  const { id } = isApp ? resource.app : resource.database;
  assertContainer(reader, { kind: resource.kind, id }, container);
  return isApp ? containerLog(id, containerNames(reader, resource.app), container) : `db:${id}`;
}

/** Whether anything of the resource runs, so that lines come from a server. */
function serverOf(resource: AppOrDatabase): string {
  return (resource.kind === 'app' ? resource.app : resource.database).serverId;
}

function runs(resource: AppOrDatabase): boolean {
  return resource.kind === 'app' ? appRuns(resource.app.run) : databaseRuns(resource.database.run);
}

async function close(options: LogRoutesOptions, exchange: Exchange): Promise<void> {
  const person = options.authenticate(exchange);
  options.refuseCrossSite(exchange);
  const sessionId = exchange.query.get('sessionId') ?? '';
  if (sessionId === '') throw badInput('Name the stream: sessionId is its first event.');
  const outcome = await options.sessions.closeAnywhere(sessionId, person.userId);
  if (outcome === 'foreign') {
    throw new ServiceError('FORBIDDEN', 'Only who opened a stream may close it.');
  }
  exchange.send(204, {}, '');
}

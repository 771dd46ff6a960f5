/**
 * Owns what the log viewer asks of the API. Lines go past the cache: they are many, never change, and are held
 * by the viewer itself.
 */
import { stringifyDocument, type TypedDocumentNode } from '@urql/core';
import { apiPath } from '../../api/client.ts';
import { ApiError, problemOf } from '../../api/errors.ts';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { actingTeam } from '../../api/team.ts';
import { setConnection } from '../../shell/connection.ts';

const LogLines = graphql(`
  query LogLines(
    $appId: ID
    $databaseId: ID
    $container: String
    $tail: Int
    $from: Float
    $at: DateTime
  ) {
    logs(
      appId: $appId
      databaseId: $databaseId
      container: $container
      tail: $tail
      from: $from
      at: $at
    ) {
      nodes {
        offset
        at
        text
      }
      range {
        generation
        firstOffset
        nextOffset
      }
    }
  }
`);

const LogMatches = graphql(`
  query LogMatches(
    $appId: ID
    $databaseId: ID
    $container: String
    $text: String!
    $regex: Boolean
    $caseSensitive: Boolean
    $after: String
  ) {
    searchLogs(
      appId: $appId
      databaseId: $databaseId
      container: $container
      text: $text
      regex: $regex
      caseSensitive: $caseSensitive
      first: 200
      after: $after
    ) {
      nodes {
        offset
        at
        text
      }
      pageInfo {
        endCursor
      }
      scannedTo
      complete
    }
  }
`);

/** Whose log. */
export interface LogSubject {
  appId?: string;
  databaseId?: string;
  /** Absent: the main one. */
  container?: string;
}

export interface Sought {
  text: string;
  regex: boolean;
  caseSensitive: boolean;
}

export type LogPage = ResultOf<typeof LogLines>['logs'];
export type LogMatchPage = ResultOf<typeof LogMatches>['searchLogs'];
export type LogMatch = LogMatchPage['nodes'][number];

export interface PageStart {
  tail: number;
  from?: number;
  at?: string;
}

export async function readLog(
  subject: LogSubject,
  start: PageStart,
  signal?: AbortSignal,
): Promise<LogPage> {
  return (await ask('LogLines', LogLines, { ...subject, ...start }, signal)).logs;
}

export async function searchLog(
  subject: LogSubject,
  sought: Sought,
  after: string | null,
  signal: AbortSignal,
): Promise<LogMatchPage> {
  return (await ask('LogMatches', LogMatches, { ...subject, ...sought, after }, signal)).searchLogs;
}

async function ask<Data, Variables>(
  operationName: string,
  document: TypedDocumentNode<Data, Variables>,
  variables: NoInfer<Variables>,
  signal?: AbortSignal,
): Promise<Data> {
  const team = actingTeam.get();
  const response = await fetch(apiPath, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(team !== null && { 'X-Service-Team': team }),
    },
    body: JSON.stringify({ operationName, query: stringifyDocument(document), variables }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiError('NETWORK', 'The server could not be reached.', null);
  });
  const answer = (await response
    .clone()
    .json()
    .catch(() => ({}))) as Answer<Data>;
  const [error] = answer.errors ?? [];
  if (error) {
    const { code = 'INTERNAL', requestId } = error.extensions ?? {};
    if (code === 'UNAUTHENTICATED') setConnection({ signedOut: true });
    const id = requestId ?? response.headers.get('x-request-id');
    throw new ApiError(code, error.message, id);
  }
  if (answer.data == null) throw await problemOf(response);
  return answer.data;
}

interface Answer<Data> {
  data?: Data | null;
  errors?: { message: string; extensions?: { code?: string; requestId?: string } }[];
}

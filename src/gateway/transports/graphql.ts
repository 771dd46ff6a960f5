/**
 * Owns `POST /api/graphql`: GraphQL over HTTP, and over Server-Sent Events for clients that accept them.
 *
 * 1. A request that is refused before it runs is 400 as `application/graphql-response+json`, 200 as
 *    `application/json`. A body that is no request is 400 in either.
 * 2. Only JSON is accepted, so that no form of another site can be sent here. A mutation without a bearer
 *    token is refused when a page of another site sent it. This holds with and without a cookie, so it
 *    covers sign-in as well. Other sites cannot read the answer of a query, and a query changes nothing.
 * 3. An error in place of an answer, such as a timeout, is a GraphQL error in the media type that the
 *    client accepts, with the status of its code.
 */
import type { Origin } from '../../auth/sign-in/sign-in.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import type { HttpSide } from '../../graphql/context.ts';
import type { Graphql } from '../../graphql/graphql.ts';
import type { Prepared } from '../../graphql/execution/executor.ts';
import type { GraphqlAnswer, GraphqlCall, Lanes } from '../../graphql/execution/lanes.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { isObject } from '../../protocol/json-rpc.ts';
import { negotiate } from '../http/accept.ts';
import type { Exchange, Headers, Route } from '../transport.ts';
import { type Callers, originOf } from '../credentials.ts';
import { explorerRoutes } from './graphql-explorer.ts';
import type { GraphqlStreams } from './graphql-streams.ts';

export interface GraphqlRoutesOptions {
  graphql: Graphql;
  callers: Pick<Callers, 'either' | 'refuseCrossSite'>;
  streams: GraphqlStreams;
  logger: Logger;
  /** Bytes of a request; default 1 MiB. */
  bodyMax?: number;
}

const jsonType = 'application/json';
const graphqlType = 'application/graphql-response+json';
const streamType = 'text/event-stream';
type MediaType = typeof jsonType | typeof graphqlType | typeof streamType;

const contentTypes = {
  [jsonType]: `${jsonType}; charset=utf-8`,
  [graphqlType]: `${graphqlType}; charset=utf-8`,
} as const;

// An answer is for its caller only.
const headersOf = {
  [jsonType]: headersFor(jsonType),
  [graphqlType]: headersFor(graphqlType),
} as const;

// Longer requests are rarely repeated, and looking for them costs more than it saves.
const reuseRequestMax = 8_192;

/** The library takes this much at once, and copies what the socket does not take. */
const lentBytesMax = 128 * 1024;

function headersFor(media: keyof typeof contentTypes): Headers {
  return Object.freeze({ 'Content-Type': contentTypes[media], 'Cache-Control': 'no-store' });
}

export function graphqlRoutes(options: GraphqlRoutesOptions): Route[] {
  const transport = new GraphqlTransport(options);
  return [
    {
      method: 'POST',
      path: '/api/graphql',
      // Each mutation is recorded by itself.
      audit: null,
      handle: (exchange) => transport.handle(exchange),
      refuse: (exchange, error) => transport.refuse(exchange, error),
    },
    ...explorerRoutes(options),
  ];
}

class GraphqlTransport {
  readonly #options: GraphqlRoutesOptions;

  constructor(options: GraphqlRoutesOptions) {
    this.#options = options;
  }

  handle(exchange: Exchange): void {
    const media = acceptedType(exchange.header('accept'));
    if (media === null) {
      exchange.problem(
        new ServiceError('NOT_ACCEPTABLE', `Accept ${jsonType}, ${graphqlType} or ${streamType}.`),
      );
      return;
    }
    const refuse = (error: unknown): void => {
      this.#refuse(exchange, media, error);
    };
    try {
      requireJson(exchange);
      const { bodyMax = 1024 * 1024, callers } = this.#options;
      const principal = callers.either(exchange, { changes: false });
      const take = (body: Buffer): void => {
        try {
          this.#take(exchange, media, principal, body)?.catch(refuse);
        } catch (error) {
          refuse(error);
        }
      };
      exchange.lendBody(bodyMax, take, refuse);
    } catch (error) {
      refuse(error);
    }
  }

  /** Answers synchronously where possible: a turn of the loop, and a promise, cost more than many queries. */
  #take(
    exchange: Exchange,
    media: MediaType,
    principal: Principal,
    lent: Buffer,
  ): Promise<void> | undefined {
    const { graphql } = this.#options;
    const lanes = graphql.loaded;
    const mayRepeat = media !== streamType && lent.length <= reuseRequestMax;
    const known = mayRepeat ? lanes?.recall(principal, lent) : undefined;
    if (known && media !== streamType) {
      exchange.send(200, headersOf[media], known);
      return undefined;
    }
    // A later answer can no longer use the lent bytes.
    const body = lanes === null ? Buffer.from(lent) : lent;
    const call = this.#toCall(exchange, principal, body, mayRepeat);
    if (lanes !== null) return this.#answer(exchange, media, lanes, call);
    return graphql.load().then((loaded) => this.#answer(exchange, media, loaded, call));
  }

  #answer(
    exchange: Exchange,
    media: MediaType,
    lanes: Lanes,
    call: HttpCall,
  ): Promise<void> | undefined {
    call.prepared = lanes.prepare(call.query, call.operationName);
    if (call.prepared.kind === 'mutation' && call.principal.kind !== 'token') {
      this.#options.callers.refuseCrossSite(exchange);
    }
    if (media === streamType) return this.#options.streams.open(exchange, lanes, call);
    const answer = lanes.answer(call);
    if (!(answer instanceof Promise)) {
      this.#send(exchange, media, call, answer, true);
      return undefined;
    }
    return answer.then((settled) => {
      // A longer body is sent without a copy, as the socket takes it.
      const isLent = settled.body.byteLength <= lentBytesMax;
      this.#send(exchange, media, call, settled, isLent);
      if (isLent) settled.giveBack?.();
    });
  }

  #send(
    exchange: Exchange,
    media: Exclude<MediaType, typeof streamType>,
    call: HttpCall,
    { kind, body }: GraphqlAnswer,
    isLent: boolean,
  ): void {
    const { retryAfterS } = call;
    let status = kind === 'refused' && media === graphqlType ? 400 : 200;
    let headers = headersOf[media];
    if (retryAfterS !== null) {
      status = 429;
      headers = { ...headers, 'Retry-After': String(retryAfterS) };
    }
    if (isLent) exchange.sendLent(status, headers, body);
    else exchange.send(status, headers, body);
  }

  #toCall(exchange: Exchange, principal: Principal, body: Buffer, mayRepeat: boolean): HttpCall {
    const request = parseRequest(body);
    const { variablesBytes } = this.#options.graphql.limits;
    if (body.length - request.query.length > variablesBytes) {
      throw new ServiceError('COST_LIMIT', `Variables may take ${variablesBytes} bytes at most.`);
    }
    return new HttpCall(exchange, principal, request, mayRepeat ? body : null);
  }

  refuse(exchange: Exchange, error: ServiceError): void {
    this.#refuse(exchange, acceptedType(exchange.header('accept')) ?? jsonType, error);
  }

  #refuse(exchange: Exchange, media: MediaType, thrown: unknown): void {
    const error = asServiceError(thrown);
    if (error.code === 'INTERNAL' && !exchange.aborted) {
      const { requestId } = exchange;
      this.#options.logger.error({ err: thrown, requestId }, 'graphql_request_failed');
    }
    const shown = media === graphqlType ? graphqlType : jsonType;
    const retry = error.retryAfterS;
    const headers = {
      ...headersOf[shown],
      ...error.headers,
      ...(retry !== undefined && { 'Retry-After': String(retry) }),
    };
    exchange.send(error.status, headers, errorBody(error, exchange.requestId));
  }
}

function errorBody(error: ServiceError, requestId: string): string {
  const extensions = { ...error.extensions, code: error.code, requestId };
  return JSON.stringify({ errors: [{ message: error.message, extensions }] });
}

/** The media type to answer with; null when the client accepts none of ours. */
export function acceptedType(accept: string): MediaType | null {
  if (accept === '') return graphqlType;
  if (accept === '*/*' || accept === jsonType) return jsonType;
  const best = negotiate(accept, [graphqlType, jsonType, streamType]);
  // A client that does not name the newer type may not know it.
  return best === graphqlType && !accept.toLowerCase().includes(graphqlType) ? jsonType : best;
}

function requireJson(exchange: Exchange): void {
  const header = exchange.header('content-type');
  if (header !== jsonType) {
    const [type = '', ...params] = header
      .toLowerCase()
      .split(';')
      .map((part) => part.trim());
    const charset = params.find((param) => param.startsWith('charset='));
    const readable = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
    if (type !== jsonType || !readable) {
      throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', `Send ${jsonType}, in UTF-8.`, {
        headers: { 'Accept-Post': jsonType },
      });
    }
  }
  const encoding = exchange.header('content-encoding');
  if (encoding !== '' && encoding !== 'identity') {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding.');
  }
}

export type GraphqlRequest = Pick<GraphqlCall, 'query' | 'operationName' | 'variables'>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The request in a body. Throws BAD_REQUEST for a body that is no GraphQL request. */
export function parseRequest(body: Uint8Array): GraphqlRequest {
  let request: unknown;
  try {
    request = JSON.parse(utf8.decode(body));
  } catch {
    // The parser's own words would quote the body.
    throw badRequest('The body is no JSON in UTF-8.');
  }
  if (Array.isArray(request))
    throw badRequest('One request at a time: lists of them are not taken.');
  if (!isObject(request)) throw badRequest('The body is no JSON object.');
  return requestOf(request);
}

/** The request in an object. Throws BAD_REQUEST. */
export function requestOf(request: Readonly<Record<string, unknown>>): GraphqlRequest {
  const { query, operationName, variables, extensions } = request;
  if (typeof query !== 'string' || query === '')
    throw badRequest('query must be a string that holds a document.');
  if (operationName != null && typeof operationName !== 'string')
    throw badRequest('operationName must be a string.');
  if (variables != null && !isObject(variables)) throw badRequest('variables must be an object.');
  if (extensions != null && !isObject(extensions))
    throw badRequest('extensions must be an object.');
  return { query, operationName: operationName || undefined, variables: variables ?? {} };
}

function badRequest(sentence: string): ServiceError {
  return new ServiceError('BAD_REQUEST', sentence);
}

/** A request with its exchange. Rarely needed parts are made on demand. */
class HttpCall implements GraphqlCall {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: GraphqlCall['variables'];
  readonly principal: Principal;
  readonly via = 'http';
  readonly caller: Exchange;
  readonly request: Buffer | null;
  prepared?: Prepared;
  #http: HttpAnswer | undefined;

  constructor(
    exchange: Exchange,
    principal: Principal,
    { query, operationName, variables }: GraphqlRequest,
    request: Buffer | null,
  ) {
    this.query = query;
    this.operationName = operationName;
    this.variables = variables;
    this.principal = principal;
    this.caller = exchange;
    this.request = request;
  }

  get signal(): AbortSignal {
    return this.caller.signal;
  }

  get http(): HttpAnswer {
    this.#http ??= new HttpAnswer(this.caller);
    return this.#http;
  }

  get retryAfterS(): number | null {
    return this.#http?.retryAfterS ?? null;
  }
}

/** What mutations may do to the answer of their exchange. */
class HttpAnswer implements HttpSide {
  /** Seconds to wait, when signing in was refused by a limit. */
  retryAfterS: number | null = null;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  get origin(): Origin {
    return originOf(this.#exchange);
  }

  get cookieHeader(): string {
    return this.#exchange.header('cookie');
  }

  setCookies(cookies: readonly string[]): void {
    if (this.#exchange.aborted) return;
    for (const cookie of cookies) this.#exchange.addHeader('Set-Cookie', cookie);
  }

  tooMany(retryAfterS: number): void {
    this.retryAfterS = Math.max(retryAfterS, this.retryAfterS ?? 0);
  }
}

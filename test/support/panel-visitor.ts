/** A browser, or a program, at the panel's host: what it sends goes to the edge, from an address of its own. */
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';
import { RawGraphqlSocket } from './graphql-socket.ts';

export interface VisitorOptions {
  /** Ports of the edge. */
  port: number;
  tlsPort: number;
  host: string;
  /** PEM of the authority that it trusts. */
  root: string;
  /** Of loopback. */
  address: string;
}

export interface Asked {
  method?: string;
  path: string;
  headers?: http.OutgoingHttpHeaders;
  body?: string | Uint8Array;
  /** The host that the request names, if it is another than that of the handshake. */
  host?: string;
}

export interface Seen {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

export class PanelVisitor {
  readonly options: VisitorOptions;
  cookie = '';
  /** All `Set-Cookie` of the last answer. */
  cookies: readonly string[] = [];

  constructor(options: VisitorOptions) {
    this.options = options;
  }

  get origin(): string {
    return `https://${this.options.host}:${String(this.options.tlsPort)}`;
  }

  /** Over plain HTTP. */
  plain(asked: Asked): Promise<Seen> {
    return wholeOf(this.#send(asked, false));
  }

  ask(asked: Asked): Promise<Seen> {
    return wholeOf(this.#send(asked, true));
  }

  /** The answer as soon as it begins. */
  open(asked: Asked): Promise<http.IncomingMessage> {
    return answerOf(this.#send(asked, true));
  }

  async graphql<T>(
    query: string,
    variables: Record<string, unknown> = {},
    headers: http.OutgoingHttpHeaders = {},
  ): Promise<{ data: T | null; code: string | undefined; seen: Seen }> {
    const seen = await this.ask({
      ...{ method: 'POST', path: '/api/graphql', body: JSON.stringify({ query, variables }) },
      headers: { 'content-type': 'application/json', origin: this.origin, ...headers },
    });
    this.cookies = seen.headers['set-cookie'] ?? [];
    const session = this.cookies.find((one) => one.includes('session_token='));
    if (session !== undefined) this.cookie = session.split(';')[0] ?? '';
    const { data = null, errors } = JSON.parse(seen.text) as {
      data?: T | null;
      errors?: { extensions: { code: string } }[];
    };
    return { data, code: errors?.[0]?.extensions.code, seen };
  }

  async must<T>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
    const { data, seen } = await this.graphql<T>(query, variables);
    assert.ok(data, seen.text);
    return data;
  }

  /** A request whose body comes later. */
  begin(asked: Omit<Asked, 'body'>): http.ClientRequest {
    return this.#begin(asked, true);
  }

  /** GraphQL over WebSocket, from a page of `origin`. */
  follow(origin = this.origin): Promise<RawGraphqlSocket> {
    const { tlsPort, root: ca, host: servername } = this.options;
    const host = `${servername}:${String(tlsPort)}`;
    const url = `https://127.0.0.1:${String(tlsPort)}/api/graphql`;
    const headers = { host, origin, cookie: this.cookie };
    return RawGraphqlSocket.open(url, headers, undefined, { ca, servername });
  }

  #send({ body, ...asked }: Asked, isSecure: boolean): http.ClientRequest {
    return this.#begin(asked, isSecure).end(body);
  }

  #begin({ headers, host, ...asked }: Omit<Asked, 'body'>, isSecure: boolean): http.ClientRequest {
    const { port, tlsPort, root: ca, address: localAddress, host: servername } = this.options;
    const at = isSecure ? tlsPort : port;
    const common = {
      ...{ ...asked, host: '127.0.0.1', port: at, localAddress, agent: false as const },
      headers: {
        host: `${host ?? servername}:${String(at)}`,
        ...(this.cookie !== '' && { cookie: this.cookie }),
        ...headers,
      },
    };
    return isSecure ? https.request({ ...common, servername, ca }) : http.request(common);
  }
}

function answerOf(asking: http.ClientRequest): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    asking.once('response', resolve).once('error', reject);
  });
}

async function wholeOf(asking: http.ClientRequest): Promise<Seen> {
  const answer = await answerOf(asking);
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += String(part);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

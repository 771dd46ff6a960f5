/**
 * Owns public sources of versions and images for tests, on one port of this machine: Docker Hub's own API, the
 * distribution API with paging and logins, the index of Node releases, and npm's. What a test sets in `answers` is said
 * in place of all that.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HubTag {
  name: string;
  digest?: string;
  pushedAt?: string;
  size?: number;
}

export interface OtherAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}

const pageSize = 3;

export class PublicRegistry {
  /** Paths with queries, in the order in which they came. */
  readonly asked: string[] = [];
  /** Tags by repository, such as `library/postgres`. */
  readonly tags = new Map<string, HubTag[]>();
  /** By the start of a path: what is said instead. Null: nothing at all, ever. */
  readonly answers = new Map<string, OtherAnswer | null>();
  images: object[] = [];
  node: object[] = [];
  readonly npm = new Map<string, Record<string, string>>();
  /** Whether the distribution API wants a login. */
  wantsLogin = false;
  readonly #server = http.createServer((request, response) => this.#answer(request, response));

  static async start(): Promise<PublicRegistry> {
    const registry = new PublicRegistry();
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  get host(): string {
    return `127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const url = new URL(request.url ?? '/', this.url);
    this.asked.push(url.pathname + url.search);
    const [, other] = [...this.answers].find(([path]) => url.pathname.startsWith(path)) ?? [];
    if (other === null) return;
    const { status = 200, headers = {}, body } = other ?? this.#usual(url, request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  }

  #usual(url: URL, { headers }: http.IncomingMessage): OtherAnswer {
    const { pathname } = url;
    const hub = /^\/v2\/repositories\/(.+)\/tags$/.exec(pathname)?.[1];
    if (hub !== undefined) return this.#hubTags(url, hub);
    const listed = /^\/v2\/(.+)\/tags\/list$/.exec(pathname)?.[1];
    if (listed !== undefined) return this.#listed(url, listed, headers.authorization);
    const name = /^\/-\/package\/(.+)\/dist-tags$/.exec(pathname)?.[1];
    if (name !== undefined) return json(this.npm.get(decodeURIComponent(name)) ?? {});
    if (pathname === '/token') return json({ token: `for:${url.searchParams.get('scope') ?? ''}` });
    if (pathname === '/v2/search/repositories/') return json({ results: this.images });
    if (pathname === '/index.json') return json(this.node);
    return { status: 404, body: '{}' };
  }

  #hubTags(url: URL, repository: string): OtherAnswer {
    const tags = this.tags.get(repository);
    if (tags === undefined) return { status: 404, body: '{"message":"object not found"}' };
    const page = Number(url.searchParams.get('page') ?? 1);
    const wanted = tags.filter(({ name }) => name.includes(url.searchParams.get('name') ?? ''));
    const end = page * pageSize;
    url.searchParams.set('page', String(page + 1));
    return json({
      count: wanted.length,
      next: end < wanted.length ? url.href : null,
      results: wanted.slice(end - pageSize, end).map(({ name, digest, pushedAt, size }) => ({
        ...{ name, digest, full_size: size, tag_last_pushed: pushedAt, images: [] },
      })),
    });
  }

  #listed(url: URL, repository: string, login: string | undefined): OtherAnswer {
    const scope = `repository:${repository}:pull`;
    if (this.wantsLogin && login !== `Bearer for:${scope}`) {
      const challenge = `Bearer realm="${this.url}/token",service="test",scope="${scope}"`;
      return { status: 401, headers: { 'www-authenticate': challenge }, body: '{}' };
    }
    const tags = this.tags.get(repository)?.map(({ name }) => name);
    if (tags === undefined) return { status: 404, body: '{}' };
    const start = tags.indexOf(url.searchParams.get('last') ?? '') + 1;
    const page = tags.slice(start, start + pageSize);
    const more = start + pageSize < tags.length;
    const link = `</v2/${repository}/tags/list?n=1000&last=${page.at(-1) ?? ''}>; rel="next"`;
    return {
      headers: more ? { link } : {},
      body: JSON.stringify({ name: repository, tags: page }),
    };
  }
}

function json(value: object): OtherAnswer {
  return { body: JSON.stringify(value) };
}

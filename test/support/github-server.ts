/**
 * A GitHub Enterprise on loopback, for tests: the endpoints of its REST API that concern Apps, installations and
 * statuses, as https://docs.github.com/en/rest has them, beside a git server. Whoever asks has to say who it is,
 * as there: by the JWT of the App, or by the token of an installation.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { jwtVerify } from 'jose';
import { GitServer } from './git-server.ts';

interface Said {
  status: number;
  body: unknown;
}

interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  token: string;
  body: unknown;
}

export interface ToldStatus {
  repository: string;
  sha: string;
  state: string;
  target_url?: string;
  context: string;
  description: string;
}

const hourMs = 3_600_000;
const notFound: Said = { status: 404, body: { message: 'Not Found' } };
const refused: Said = { status: 401, body: { message: 'Bad credentials' } };

export class GithubServer {
  readonly git = new GitServer();
  readonly appId = 4711;
  readonly webhookSecret = 'secret-of-the-webhook';
  /** PKCS #1, as GitHub gives it. */
  readonly privateKey: string;
  /** The calls of the API. */
  readonly calls: string[] = [];
  readonly statuses: ToldStatus[] = [];
  /** What a manifest was exchanged for, by code; each counts once. */
  readonly codes = new Set(['code-of-the-app']);
  readonly installations = new Map([[77, 'acme']]);
  repositories = [{ full_name: 'acme/shop', default_branch: 'main', private: true }];
  /** Answers in place of the API. */
  fault: ((call: Call) => Said | null) | null = null;
  readonly #publicKey: KeyObject;
  readonly #tokens = new Set<string>();
  #issued = 0;

  constructor() {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    this.privateKey = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    this.#publicKey = createPublicKey(privateKey);
    this.git.answers.set('/api/v3/', (request, response) => void this.#answer(request, response));
  }

  get url(): string {
    return this.git.url;
  }

  /** Tokens that were issued. */
  get issued(): number {
    return this.#issued;
  }

  open(): Promise<void> {
    return this.git.open();
  }

  close(): Promise<void> {
    return this.git.close();
  }

  /** No token that was issued counts any more. */
  revokeTokens(): void {
    this.#tokens.clear();
    this.git.login = 'x-access-token:none';
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? '', this.url);
    const { method = '', headers } = request;
    const sent = await text(request);
    const path = pathname.slice('/api/v3'.length);
    const token = (headers.authorization ?? '').replace(/^Bearer /, '');
    const body = sent === '' ? null : (JSON.parse(sent) as unknown);
    const call = { method, path, query, token, body };
    this.calls.push(`${method} ${path}`);
    const said = this.fault?.(call) ?? (await this.#said(call, headers['user-agent'] ?? ''));
    response.writeHead(said.status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(said.body));
  }

  async #said(call: Call, agent: string): Promise<Said> {
    // https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api#user-agent
    if (agent === '') return { status: 403, body: { message: 'Request forbidden' } };
    const { method, path, token } = call;
    const code = /^\/app-manifests\/([^/]+)\/conversions$/.exec(path)?.[1];
    if (method === 'POST' && code !== undefined) return this.#convert(code);
    if (path.startsWith('/app/') || path.endsWith('/installation')) {
      return (await this.#isApp(token)) ? this.#ofApp(call) : refused;
    }
    return this.#tokens.has(token) ? this.#ofInstallation(call) : refused;
  }

  #convert(code: string): Said {
    if (!this.codes.delete(code)) return notFound;
    return {
      status: 201,
      body: {
        id: this.appId,
        slug: 'gangway-home',
        name: 'gangway-home',
        owner: { login: 'acme', id: 3, type: 'Organization' },
        html_url: `${this.url}/github-apps/gangway-home`,
        client_id: 'Iv1.8a61f9b3a7aba766',
        client_secret: '1726be1638095a19edd134c77bde3aa2ece1e5d8',
        webhook_secret: this.webhookSecret,
        pem: this.privateKey,
        permissions: { contents: 'read', metadata: 'read', statuses: 'write' },
        events: ['push'],
      },
    };
  }

  async #isApp(jwt: string): Promise<boolean> {
    try {
      const options = { issuer: String(this.appId), algorithms: ['RS256'] };
      const { payload } = await jwtVerify(jwt, this.#publicKey, options);
      const { iat = 0, exp = Infinity } = payload;
      return exp - iat <= 600;
    } catch {
      // Not ours, or over.
      return false;
    }
  }

  #ofApp({ method, path }: Call): Said {
    const all = [...this.installations].map(([id, login]) => ({ id, account: { login } }));
    if (path === '/app/installations') return { status: 200, body: all };
    const owner = /^\/repos\/([^/]+)\/[^/]+\/installation$/.exec(path)?.[1];
    const [, id, of] = /^\/app\/installations\/(\d+)(\/access_tokens)?$/.exec(path) ?? [];
    const found = all.find((one) => one.account.login === owner || one.id === Number(id));
    if (found === undefined) return notFound;
    return method === 'POST' && of !== undefined ? this.#issue() : { status: 200, body: found };
  }

  #issue(): Said {
    this.#issued += 1;
    const token = `ghs_${String(this.#issued).padStart(36, '0')}`;
    this.#tokens.add(token);
    this.git.login = `x-access-token:${token}`;
    const expires_at = new Date(Date.now() + hourMs).toISOString();
    return { status: 201, body: { token, expires_at, repository_selection: 'selected' } };
  }

  #ofInstallation({ path, query, body }: Call): Said {
    if (path === '/installation/repositories') {
      const size = Number(query.get('per_page') ?? 30);
      const from = (Number(query.get('page') ?? 1) - 1) * size;
      const { repositories } = this;
      const page = repositories.slice(from, from + size);
      return { status: 200, body: { total_count: repositories.length, repositories: page } };
    }
    const [, repository = '', sha = ''] = /^\/repos\/(.+)\/statuses\/(\w+)$/.exec(path) ?? [];
    if (sha === '') return notFound;
    const status = body as Omit<ToldStatus, 'repository' | 'sha'>;
    this.statuses.push({ repository, sha, ...status });
    return { status: 201, body: { id: this.statuses.length, ...status } };
  }
}

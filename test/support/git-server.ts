/**
 * A git server on loopback, for tests: `git http-backend` over bare repositories in a folder of its own, and
 * answers that tests put in its place. Without an answer of a test, what is not there is 404.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { tempDir } from './runner.ts';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const author = ['-c', 'user.name=Ada Byron', '-c', 'user.email=ada@example.com'];

export function git(folder: string, ...args: string[]): string {
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  const options = ['-c', 'protocol.version=2', '-c', 'init.defaultBranch=main', ...author];
  return execFileSync('git', [...options, ...args], { cwd: folder, env, encoding: 'utf8' }).trim();
}

export class GitServer {
  readonly folder = tempDir();
  /** The paths with queries that were asked for, and their Authorization headers. */
  readonly requests: { url: string; authorization: string | undefined; protocol: unknown }[] = [];
  /** By the first segments of a path: answered in place of git. */
  readonly answers = new Map<string, Answer>();
  /** Name and password that git asks for; null: public. */
  login: string | null = null;
  /** Whether it knows only the protocol of old. */
  isOld = false;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** A repository with a first commit of these files; returns its address. `->`: a link. */
  create(name: string, files: Record<string, string>): string {
    const bare = join(this.folder, `${name}.git`);
    git(this.folder, 'init', '--quiet', '--bare', bare);
    git(this.folder, 'clone', '--quiet', bare, join(this.folder, name));
    this.commit(name, files);
    return `${this.url}/${name}.git`;
  }

  /** Adds a commit of these files to a branch; returns its name. */
  commit(name: string, files: Record<string, string>, message = 'Change', branch = 'main'): string {
    const work = join(this.folder, name);
    git(work, 'checkout', '--quiet', '-B', branch);
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(work, file)), { recursive: true });
      if (text.startsWith('->')) symlinkSync(text.slice(2), join(work, file));
      else writeFileSync(join(work, file), text);
    }
    git(work, 'add', '--all');
    git(work, 'commit', '--quiet', '--allow-empty', '-m', message);
    git(work, 'push', '--quiet', '--force', 'origin', `${branch}:${branch}`);
    return git(work, 'rev-parse', 'HEAD');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.folder, { recursive: true, force: true });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = '', headers } = request;
    const { authorization } = headers;
    this.requests.push({ url, authorization, protocol: headers['git-protocol'] });
    const own = [...this.answers].find(([prefix]) => url.startsWith(prefix));
    if (own !== undefined) {
      own[1](request, response);
      return;
    }
    const wanted = this.login && `Basic ${Buffer.from(this.login).toString('base64')}`;
    if (wanted !== null && authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    this.#run(request, response);
  }

  /** As CGI has it. */
  #run(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search } = new URL(request.url ?? '', this.url);
    const protocol = this.isOld ? undefined : request.headers['git-protocol'];
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.folder,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'],
        ...(typeof protocol === 'string' && { GIT_PROTOCOL: protocol }),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    request.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.stdout.on('end', () => {
      const whole = Buffer.concat(chunks);
      const end = whole.indexOf('\r\n\r\n');
      const head = whole.toString('latin1', 0, end).split('\r\n');
      const fields = head.map((field) => field.split(': ') as [string, string]);
      const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200';
      const rest = fields.filter(([name]) => name !== 'Status');
      response.writeHead(Number.parseInt(status, 10), Object.fromEntries(rest));
      response.end(whole.subarray(end + 4));
    });
  }
}

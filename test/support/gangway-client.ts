/** A person or a program that uses a Gangway over HTTP, for scenarios. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { tar } from './archives.ts';
import { until } from './eventually.ts';

const fixtures = fileURLToPath(new URL('../fixtures/apps', import.meta.url));

export const owner = { email: 'me@example.com', password: 'correct horse battery' };

export interface Place {
  readonly url: string;
  readonly edgePort: number;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  requestId: string;
}

export interface GraphqlAnswer<T> {
  status: number;
  data: T | null | undefined;
  errors: { message: string; extensions: { code: string }; path?: unknown[] }[];
  headers: Headers;
}

export interface AppInfo {
  id: string;
  slug: string;
  url: string;
}

export interface HookAnswer {
  deploymentId: string;
  appId: string;
  status: string;
  url: string;
}

export class Client {
  cookie = '';
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  get url(): string {
    return this.#place.url;
  }

  /** A request with the cookie, as a script sends it. */
  async ask(path: string, init: RequestInit & { duplex?: 'half' } = {}): Promise<Answer> {
    const headers = new Headers(init.headers);
    if (this.cookie !== '' && !headers.has('cookie')) headers.set('cookie', this.cookie);
    const sent = { redirect: 'manual', ...init, headers } as const;
    const response = await fetch(`${this.url}${path}`, sent).catch((error: unknown) => {
      const cause: unknown = error instanceof Error ? error.cause : undefined;
      if (!(cause instanceof Error)) throw error;
      // Its own message is the same for all that can go wrong.
      throw new TypeError(`Cannot ask ${path}: ${cause.message}`, { cause });
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async graphql<T = Record<string, never>>(
    query: string,
    variables: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<GraphqlAnswer<T>> {
    const answer = await this.ask('/api/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables }),
    });
    const cookie = answer.headers.getSetCookie().find((one) => one.startsWith('service.session'));
    if (cookie !== undefined) this.cookie = cookie.split(';')[0] ?? '';
    const { data, errors = [] } = JSON.parse(answer.text) as Partial<GraphqlAnswer<T>>;
    return { status: answer.status, data, errors, headers: answer.headers };
  }

  /** The data of an operation that is to succeed. */
  async must<T = Record<string, never>>(
    query: string,
    variables: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<T> {
    const { data, errors } = await this.graphql<T>(query, variables, headers);
    assert.deepEqual(errors, [], query);
    assert.ok(data, query);
    return data;
  }

  /** The code of an operation that is to fail. */
  async fails(
    query: string,
    variables: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): Promise<string | undefined> {
    const { errors } = await this.graphql(query, variables, headers);
    return errors[0]?.extensions.code;
  }

  async setUp(): Promise<void> {
    await this.must(
      `mutation($email: String!, $password: String!) {
        completeSetup(email: $email, password: $password, name: "Me", teamName: "Home") { viewer { id } }
      }`,
      owner,
    );
  }

  /** `input` is a CreateAppInput without its source. */
  async createApp(name: string, input: Record<string, unknown> = {}): Promise<AppInfo> {
    const { createApp } = await this.must<{ createApp: AppInfo }>(
      'mutation($input: CreateAppInput!) { createApp(input: $input) { id slug url } }',
      { input: { name, source: 'UPLOAD', ...input } },
    );
    return createApp;
  }

  async upload(
    appId: string,
    archive: Uint8Array,
    filename = 'app.tar.gz',
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return await this.ask(`/api/apps/${appId}/upload`, {
      method: 'POST',
      headers: { 'x-upload-filename': filename, ...headers },
      body: archive as Uint8Array<ArrayBuffer>,
    });
  }

  async mustUpload(appId: string, archive: Uint8Array): Promise<void> {
    const { status, text } = await this.upload(appId, archive);
    assert.equal(status, 200, text);
  }

  /** Secret of a token; `input` is a CreateTokenInput without its name. */
  async token(input: Record<string, unknown>): Promise<string> {
    const { createToken } = await this.must<{ createToken: { secret: string } }>(
      'mutation($input: CreateTokenInput!) { createToken(input: $input) { secret } }',
      { input: { name: 'ci', ...input } },
    );
    return createToken.secret;
  }

  async hookPath(appId: string): Promise<string> {
    const { revealAppDeployHook } = await this.must<{ revealAppDeployHook: string }>(
      'mutation($id: ID!) { revealAppDeployHook(id: $id) }',
      { id: appId },
    );
    return new URL(revealAppDeployHook).pathname;
  }

  async redeploy(appId: string): Promise<string> {
    const { redeploy } = await this.must<{ redeploy: { id: string } }>(
      'mutation($id: ID!) { redeploy(appId: $id) { id } }',
      { id: appId },
    );
    return redeploy.id;
  }

  async deployment(
    id: string,
  ): Promise<{ status: string; error: string | null; log: string } | null> {
    const { deployment } = await this.must<{
      deployment: {
        status: string;
        error: string | null;
        log: { nodes: { text: string }[] };
      } | null;
    }>(
      'query($id: ID!) { deployment(id: $id) { status error log(first: 1000) { nodes { text } } } }',
      { id },
    );
    return (
      deployment && { ...deployment, log: deployment.log.nodes.map(({ text }) => text).join('\n') }
    );
  }

  /** Waits for the end of a deployment. */
  async finished(id: string, timeoutMs = 120_000): Promise<string> {
    let status = '';
    const look = async (): Promise<boolean> => {
      const { deployment } = await this.must<{ deployment: { status: string } | null }>(
        'query($id: ID!) { deployment(id: $id) { status } }',
        { id },
      );
      assert.ok(deployment, `deployment ${id} exists`);
      ({ status } = deployment);
      return !['queued', 'building', 'starting'].includes(status);
    };
    await until(`the end of deployment ${id}`, timeoutMs, look).catch(async (error: unknown) => {
      const log = (await this.deployment(id))?.log ?? '';
      throw new Error(`Deployment ${id} is ${status}\n${log}`, { cause: error });
    });
    return status;
  }

  /** Deploys what was uploaded, until it is live. */
  async deployed(appId: string): Promise<string> {
    const id = await this.redeploy(appId);
    const status = await this.finished(id);
    if (status !== 'ready') assert.fail(`${status}\n${(await this.deployment(id))?.log ?? ''}`);
    return id;
  }

  /** A running app of these files. */
  async runningApp(
    name: string,
    archive: Uint8Array,
    input: Record<string, unknown> = {},
  ): Promise<AppInfo> {
    const app = await this.createApp(name, input);
    await this.mustUpload(app.id, archive);
    await this.deployed(app.id);
    return app;
  }

  /** A request to an app, as a browser sends it to `<slug>.localhost`; 0 when there is no answer. */
  visit(slug: string, path = '/'): Promise<{ status: number; text: string }> {
    const { edgePort } = this.#place;
    return new Promise((resolve) => {
      const headers = { host: `${slug}.localhost:${String(edgePort)}` };
      const options = { host: '127.0.0.1', port: edgePort, path, headers, agent: false } as const;
      const asking = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (more: string) => {
          text += more;
        });
        response.once('close', () => {
          resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, text });
        });
      });
      asking.once('error', (error) => {
        resolve({ status: 0, text: error.message });
      });
      asking.end();
    });
  }
}

/** Visits an app without a pause until told to stop, and remembers what was no good answer. */
export class Visitor {
  visits = 0;
  readonly failures: object[] = [];
  readonly #visiting: Promise<void>;
  #going = true;

  constructor(client: Client, slug: string, path = '/') {
    this.#visiting = (async () => {
      while (this.#going) {
        const { status, text } = await client.visit(slug, path);
        this.visits += 1;
        if (status !== 200) this.failures.push({ at: new Date().toISOString(), status, text });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
  }

  /** Asserts that each visit was answered. */
  async end(): Promise<void> {
    this.#going = false;
    await this.#visiting;
    assert.deepEqual(this.failures.slice(0, 5), []);
    assert.ok(this.visits > 0);
  }
}

/** A fixture app, packed as a person does it. */
export function packed(fixture: 'chatty' | 'express' | 'procfile' | 'vite-static'): Buffer {
  return execFileSync('tar', ['-czf', '-', '-C', `${fixtures}/${fixture}`, '.']);
}

/** A small app of these files. */
export function archiveOf(files: Record<string, string>): Buffer {
  return gzipSync(tar(...Object.entries(files).map(([name, data]) => ({ name, data }))));
}

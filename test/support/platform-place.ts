/**
 * The platform over a data directory of its own, with real apps in real processes, for scenarios
 * below the gateway. `crash` leaves the runner and the apps as kill -9 of the service does.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { appActor } from '../../src/actors/app/protocol.ts';
import type { AppProtocol, EnvEntry, NewApp } from '../../src/actors/app/protocol.ts';
import { resolveConfig } from '../../src/config.ts';
import { newId } from '../../src/lib/ids.ts';
import { openPlatform } from '../../src/service/platform.ts';
import type { Platform } from '../../src/service/platform.ts';
import type { AppRecord, DeploymentRecord } from '../../src/store/records/records.ts';
import type { LogName } from '../../src/logs/files/log.ts';
import { tables } from '../../src/store/records/tables.ts';
import { freePort } from './ports.ts';
import { isAlive, runnerOf, signal } from './processes.ts';
import { tempDir } from './runner.ts';
import { eventually } from './eventually.ts';
import { recordingLogger } from './silent-logger.ts';

const fixtures = fileURLToPath(new URL('../fixtures/apps', import.meta.url));

export type FixtureApp = 'express' | 'vite-static' | 'procfile' | 'chatty';

export class PlatformPlace {
  readonly dataDir = tempDir();
  readonly logger = recordingLogger();
  #platform: Platform | null = null;
  #edgePort = 0;
  readonly #variables: Record<string, string>;
  // Timers of the platform keep no process alive; a test that waits must.
  readonly #alive = setInterval(() => undefined, 1000);

  constructor(variables: Record<string, string> = {}) {
    this.#variables = { GANGWAY_APP_DRAIN_SECONDS: '1', ...variables };
  }

  get platform(): Platform {
    if (this.#platform === null) throw new Error('the platform is not open');
    return this.#platform;
  }

  get edgePort(): number {
    return this.#edgePort;
  }

  async open(): Promise<void> {
    if (this.#edgePort === 0) this.#edgePort = await freePort();
    const { config } = resolveConfig({
      GANGWAY_DATA_DIR: this.dataDir,
      GANGWAY_EDGE_PORT: String(this.#edgePort),
      // A daemon of the machine is not the tests'.
      GANGWAY_RUNTIME: 'process',
      ...this.#variables,
    });
    this.#platform = await openPlatform(config, this.logger, (error) => {
      throw error;
    });
    await this.#platform.start();
  }

  /** Nothing is drained or told: every actor is dropped where it stands. */
  async crash(): Promise<void> {
    await this.platform.close();
    await this.open();
  }

  async close(): Promise<void> {
    await this.#platform?.close();
    // Also one that was only just started and does not answer yet.
    const runner = runnerOf(this.dataDir);
    if (runner !== undefined) {
      signal(runner.pid, 'SIGTERM');
      await eventually('the runner is gone', () => !isAlive(runner.pid));
    }
    await rm(this.dataDir, { recursive: true, force: true });
    clearInterval(this.#alive);
  }

  ask<T extends keyof AppProtocol>(
    appId: string,
    message: { type: T } & AppProtocol[T]['in'],
  ): Promise<AppProtocol[T]['out']> {
    return this.platform.actors.ask(appActor.at(appId), message);
  }

  async create(source: FixtureApp | Record<string, string>, input: Partial<NewApp> = {}) {
    const id = newId('app');
    await this.ask(id, { type: 'create', app: { ...newApp, ...input } });
    await this.upload(id, source);
    return this.app(id);
  }

  /** Uploads a fixture, or files by name. */
  async upload(appId: string, source: FixtureApp | Record<string, string>): Promise<AppRecord> {
    const uploadId = newId('trs');
    const { dir, name } = await this.ask(appId, { type: 'upload-begin', uploadId });
    const blob = `${uploadId}.tgz`;
    const archive = join(dir, name);
    if (typeof source === 'string') pack(archive, join(fixtures, source));
    else {
      const folder = tempDir();
      for (const [file, text] of Object.entries(source)) writeFileSync(join(folder, file), text);
      pack(archive, folder);
      await rm(folder, { recursive: true });
    }
    const bytes = readFileSync(archive);
    return this.ask(appId, {
      type: 'upload-commit',
      uploadId,
      upload: {
        filename: 'app.tgz',
        sizeBytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        format: 'tar.gz',
        uploadedAtMs: Date.now(),
        blob,
      },
    });
  }

  app(id: string): Readonly<AppRecord> {
    const app = this.platform.store.get(tables.apps, id);
    if (app === undefined) throw new Error('no such app');
    return app;
  }

  deployment(id: string): Readonly<DeploymentRecord> {
    const deployment = this.platform.store.get(tables.deployments, id);
    if (deployment === undefined) throw new Error('no such deployment');
    return deployment;
  }

  /** Deploys and waits for the end; throws with the log of a deployment that did not become ready. */
  async deploy(appId: string): Promise<Readonly<DeploymentRecord>> {
    const { id } = await this.ask(appId, { type: 'redeploy', trigger: 'api' });
    await this.finished(id);
    const deployment = this.deployment(id);
    if (deployment.status === 'ready') return deployment;
    // What is not to be shown to people is in the log alone.
    const errors = this.logger.records.filter(({ level }) => level === 'error');
    const text = `${deployment.status}: ${String(deployment.error)}\n${this.log(`build:${id}`)}`;
    throw new Error(`${text}${inspect(errors, { depth: 4 })}`);
  }

  finished(deploymentId: string): Promise<void> {
    const done = (): boolean => this.deployment(deploymentId).finishedAtMs !== null;
    return eventually('the deployment is over', done, 180_000);
  }

  log(name: LogName): string {
    const { reader } = this.platform.streams;
    let text = '';
    for (let from = reader.range(name)?.firstOffset ?? 0; ;) {
      const { lines, nextOffset } = reader.read(name, from, 10_000, 16 * 2 ** 20);
      for (const { bytes } of lines) text += Buffer.from(bytes).toString();
      if (lines.length === 0 || nextOffset === from) return text;
      from = nextOffset;
    }
  }

  /** A request to an app at the edge; 0 when there was no answer. */
  get(slug: string, path = '/', method = 'GET'): Promise<{ status: number; body: string }> {
    return new Promise((resolve) => {
      const headers = { host: `${slug}.localhost:${String(this.#edgePort)}` };
      const options = { port: this.#edgePort, host: '127.0.0.1', path, method, headers };
      const asking = request({ ...options, agent: false }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
        });
        response.once('close', () => {
          resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, body });
        });
      });
      asking.once('error', (error) => {
        resolve({ status: 0, body: error.message });
      });
      asking.end();
    });
  }
}

function pack(archive: string, folder: string): void {
  execFileSync('tar', ['-czf', archive, '-C', folder, '.']);
}

export function variable(key: string, value: string): EnvEntry {
  return { key, value, isSecret: true, targets: [] };
}

export const newApp: NewApp = {
  teamId: 'team_1',
  name: 'Web',
  source: 'UPLOAD',
  folderId: null,
  serverId: null,
  git: null,
  image: null,
  compose: null,
  build: {},
  resources: {},
  env: [],
};

/** The upload transport on real sockets, with the real bulk pool and an app actor that keeps a diary. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Actors } from '../../src/actors/runtime/actor.ts';
import type { GatewayLimits } from '../../src/gateway/http/exchange-host.ts';
import type { Transfers } from '../../src/gateway/transports/transfers.ts';
import { uploadRoutes } from '../../src/gateway/transports/upload.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import type { StoredUpload } from '../../src/store/records/records.ts';
import { BulkPool, type BulkPoolOptions } from '../../src/archives/receiving/bulk-pool.ts';
import { AccountsFixture, person } from './accounts-fixture.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { recordingLogger } from './silent-logger.ts';

export interface UploadFixture {
  root: string;
  gateway: TestGateway;
  bulk: BulkPool;
  /** Messages to the app actor, by type. */
  diary: string[];
  /** What the app points at. */
  current: () => StoredUpload | null;
  /** What the actor answers instead. */
  refuse: Map<string, ServiceError>;
  files: () => string[];
  close: () => Promise<void>;
}

export interface UploadFixtureOptions {
  archiveBytes?: number;
  gateway?: Partial<GatewayLimits>;
  bulk?: Partial<BulkPoolOptions>;
  authenticate?: () => ReturnType<typeof person>;
  authorize?: () => void;
  transfers?: Transfers;
}

export async function startUploads(options: UploadFixtureOptions = {}): Promise<UploadFixture> {
  const root = mkdtempSync(join(tmpdir(), 'gangway-upload-'));
  const dir = join(root, 'app_1');
  mkdirSync(dir);
  const logger = recordingLogger();
  const temporaryDir = join(root, 'tmp');
  const bulk = new BulkPool({
    temporaryDir,
    logger,
    clock: systemClock,
    lanes: 1,
    ...options.bulk,
  });
  const accounts = new AccountsFixture();
  accounts.addApp('app_1', 'team_1', { source: 'UPLOAD' });
  const actor = new DiaryActor(dir);
  const routes = uploadRoutes({
    bulk,
    actors: actor as unknown as Actors,
    reader: accounts.store,
    authenticate: options.authenticate ?? (() => person('usr_1')),
    authorize: options.authorize ?? (() => undefined),
    logger,
    now: () => 1_763_000_000_123,
    ...(options.transfers && { transfers: options.transfers }),
    ...(options.archiveBytes !== undefined && { archiveBytes: options.archiveBytes }),
  });
  const gateway = await startGateway(routes, { limits: options.gateway ?? {} });
  return {
    ...{ root, gateway, bulk, diary: actor.diary, refuse: actor.refuse },
    current: () => actor.current,
    files: () => [
      ...readdirSync(dir).map((name) => `app/${name}`),
      ...names(temporaryDir).map((name) => `tmp/${name}`),
    ],
    close: async () => {
      await gateway.close();
      await bulk.close();
      await accounts.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function names(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    // Not made before the first upload.
    return [];
  }
}

class DiaryActor {
  readonly diary: string[] = [];
  readonly refuse = new Map<string, ServiceError>();
  readonly #dir: string;
  current: StoredUpload | null = null;
  #uploadId: string | null = null;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async ask(
    _to: unknown,
    message: { type: string; uploadId: string; upload?: StoredUpload },
  ): Promise<unknown> {
    this.diary.push(message.type);
    const refusal = this.refuse.get(message.type);
    if (refusal !== undefined) throw refusal;
    switch (message.type) {
      case 'upload-begin':
        if (this.#uploadId !== null) {
          throw new ServiceError('UPLOAD_IN_PROGRESS', 'Another upload to this app is running.');
        }
        this.#uploadId = message.uploadId;
        return { dir: this.#dir, name: message.uploadId };
      case 'upload-commit':
        assert(message.upload !== undefined);
        renameSync(join(this.#dir, message.uploadId), join(this.#dir, message.upload.blob));
        this.#uploadId = null;
        this.current = message.upload;
        return {};
      default:
        if (this.#uploadId !== message.uploadId) return false;
        this.#uploadId = null;
        rmSync(join(this.#dir, message.uploadId), { force: true });
        return true;
    }
  }
}

export interface UploadAnswer {
  status: number;
  body: { code?: string; ok?: boolean; upload?: object; [member: string]: unknown };
}

/** Sends a body whole, with its length; an answer that comes before the end counts. */
export function upload(
  port: number,
  body: Uint8Array,
  filename: string | null = 'app.tar',
  { headers = {}, path = '/api/apps/app_1/upload' } = {},
): Promise<UploadAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ port, path, host: '127.0.0.1', method: 'POST', agent: false },
      headers: {
        'Content-Length': String(body.length),
        ...(filename !== null && { 'X-Upload-Filename': filename }),
        ...headers,
      },
    });
    let answered = false;
    sent.on('error', (error) => {
      if (!answered) reject(error);
    });
    sent.on('response', (response) => {
      answered = true;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          body: JSON.parse(text) as UploadAnswer['body'],
        });
      });
    });
    sent.end(body);
  });
}

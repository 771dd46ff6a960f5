/**
 * Owns the way of visitors from the edge of this machine to apps of other servers: a Unix socket for each such app,
 * whose connections go over the link to what is live of it.
 *
 * 1. Only the edge of this machine may come there (`protocol/panel-sockets.ts`).
 * 2. Where the other server cannot be reached the visitor is told so, within two seconds; and where the app has too many
 *    visitors for the link.
 * 3. How long a visit may be silent is for the edge to say, which soon closes what it keeps unused: that would fill the
 *    link. Here a silent connection is closed where it leads nowhere, or to an app that takes nothing: it is not seen then
 *    that its visitor has gone.
 */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { localServerId } from '../places/local-place.ts';
import type { Place } from '../places/place.ts';
import { appSocketOf } from '../protocol/panel-sockets.ts';
import { socketAddress } from '../protocol/runner-socket.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import { type AppsStore, FollowedApps } from '../store/reading/followed-apps.ts';
import type { AppRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';

export interface AppWaysOptions {
  store: AppsStore & Pick<Reader, 'get'>;
  placeOf: (serverId: string) => Pick<Place, 'connect'>;
  /** Makes the folder where the edge starts, unless it is there. */
  dir: () => string;
  logger: Logger;
  /** Of one that leads nowhere. Default 60 s. */
  silenceMs?: number;
  /** Of one whose app takes nothing. Default 1 h. */
  stalledMs?: number;
}

const [silenceMs, stalledMs] = [60_000, 3_600_000];
const away = answerOf(
  'Not reached',
  'The server that runs this app is not reached at the moment. Try again soon.',
);
const crowded = answerOf(
  'Too many visitors',
  'The app has too many visitors at once. Try again in a moment.',
);

export class AppWays {
  readonly #options: AppWaysOptions;
  readonly #ways = new Map<string, Server>();
  readonly #open = new Set<Socket>();
  readonly #ending = new AbortController();
  readonly #apps: FollowedApps;

  constructor(options: AppWaysOptions) {
    this.#options = options;
    this.#apps = new FollowedApps(options.store, {
      see: (app) => this.#see(app),
      gone: (id) => this.#close(id),
    });
  }

  async start(): Promise<void> {
    await this.#apps.start();
  }

  close(): void {
    this.#apps.close();
    this.#ending.abort();
    for (const id of [...this.#ways.keys()]) this.#close(id);
    for (const socket of this.#open) socket.destroy();
  }

  #see({ id, serverId, deletedAtMs }: Readonly<AppRecord>): void {
    const isElsewhere = serverId !== localServerId && deletedAtMs === null;
    if (!isElsewhere) this.#close(id);
    else if (!this.#ways.has(id)) this.#listen(id);
  }

  #listen(appId: string): void {
    const { logger } = this.#options;
    const dir = this.#options.dir();
    const name = appSocketOf(appId);
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      this.#lead(appId, socket).catch((err: unknown) => {
        logger.warn({ err, app: appId }, 'visitor_not_led');
        socket.destroy();
      });
    });
    server.on('error', (err) => logger.error({ err, app: appId }, 'app_way_not_open'));
    this.#ways.set(appId, server);
    // That of an earlier process, which listens no more.
    rmSync(join(dir, name), { force: true });
    const address = socketAddress(dir, name);
    server.once('listening', () => {
      address.release();
      chmodSync(join(dir, name), 0o666); // Its folder says who may come.
    });
    server.listen(address.path);
  }

  #close(appId: string): void {
    const server = this.#ways.get(appId);
    if (server === undefined) return;
    this.#ways.delete(appId);
    server.close();
    rmSync(join(this.#options.dir(), appSocketOf(appId)), { force: true });
  }

  async #lead(appId: string, socket: Socket): Promise<void> {
    const { store, placeOf } = this.#options;
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    socket.on('error', () => undefined); // It is the visitor's or the edge's, which are free to go.
    const close = (): void => void socket.destroy();
    socket.setTimeout(this.#options.silenceMs ?? silenceMs, close);
    const app = store.get(tables.apps, appId);
    const live = app?.run.live;
    if (app === undefined || !live) {
      socket.end(away);
      return;
    }
    const { host, port, targetPort = port, workloadId: workload } = live;
    const gone = new AbortController();
    socket.once('close', () => gone.abort());
    const signal = AbortSignal.any([this.#ending.signal, gone.signal]);
    const to = { workload, host, port: targetPort };
    const stream = await placeOf(app.serverId)
      .connect(to, signal, appId)
      .catch((error: unknown) => (isCrowded(error) ? crowded : away));
    if (typeof stream === 'string') {
      // Behind the request, whose beginning the edge has sent: it is not read.
      socket.end(stream);
      return;
    }
    socket.off('timeout', close).setTimeout(this.#options.stalledMs ?? stalledMs);
    socket.on('timeout', () => {
      if (stream.writableNeedDrain) socket.destroy();
    });
    pipeline(socket, stream, () => stream.destroy());
    pipeline(stream, socket, close);
  }
}

function isCrowded(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'OVERLOADED';
}

function answerOf(title: string, sentence: string): string {
  const page = `<!doctype html><meta charset="utf-8"><title>${title}</title><p>${sentence}\n`;
  return [
    'HTTP/1.1 503 Service Unavailable',
    'Content-Type: text/html; charset=utf-8',
    `Content-Length: ${String(Buffer.byteLength(page))}`,
    'Cache-Control: no-store',
    'Retry-After: 5',
    'Connection: close',
    '',
    page,
  ].join('\r\n');
}

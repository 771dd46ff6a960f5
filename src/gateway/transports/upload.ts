/**
 * Owns `POST /api/apps/:id/upload`: a raw archive in the body becomes what the app is built from.
 *
 * 1. The checks run in this order: the caller (401, 403 CROSS_SITE), the caller's rights (404, 403), the
 *    file name (400, 415), the declared length (413), the state of the app (409). Then the body is read.
 * 2. The app points at the archive only once that is checked, in its place and on disk. If an upload ends
 *    otherwise, the previous archive is untouched and nothing of the upload is left.
 * 3. A caller who loses the right while the body arrives is refused.
 * 4. The 200 is sent once the app's new state is durable.
 */
import { randomUUID } from 'node:crypto';
import { appActor } from '../../actors/app/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { type ArchiveFormat, formatOf, uploadFilename } from '../../archives/formats/format.ts';
import type { AppRecord, StoredUpload } from '../../store/records/records.ts';
import type { ReceivedFile } from '../../archives/bulk-messages.ts';
import type { IncomingFile } from '../../archives/receiving/bulk-lane.ts';
import type { BulkPool } from '../../archives/receiving/bulk-pool.ts';
import { permittedApp, type ResourceRights } from '../resources.ts';
import type { BodyFlow, Exchange, Route } from '../transport.ts';
import { Transfers } from './transfers.ts';

export interface UploadRoutesOptions extends ResourceRights {
  bulk: Pick<BulkPool, 'receive'>;
  actors: Actors;
  /**
   * The person behind the session cookie, of a request that changes something: COOKIE_REQUIRED,
   * UNAUTHENTICATED, CROSS_SITE.
   */
  authenticate: (exchange: Exchange) => Principal;
  /** Default: those of these routes alone. */
  transfers?: Transfers;
  logger: Logger;
  /** Bytes of an archive; above it PAYLOAD_TOO_LARGE. Default 512 MiB. */
  archiveBytes?: number;
  /** Milliseconds since the epoch; default the system's. */
  now?: () => number;
}

interface Upload {
  id: string;
  app: Readonly<AppRecord>;
  filename: string;
  format: ArchiveFormat;
  blob: string;
}

/** The client left: there is nobody to answer. */
class ClientLeft extends Error {}

export function uploadRoutes(options: UploadRoutesOptions): Route[] {
  const { archiveBytes = 512 * 1024 * 1024, transfers = new Transfers() } = options;
  return [
    {
      method: 'POST',
      path: '/api/apps/:id/upload',
      audit: 'upload',
      handle: async (exchange) => {
        const principal = options.authenticate(exchange);
        const upload = admit(options, exchange, principal, archiveBytes);
        const receiving = (): Promise<StoredUpload> =>
          store(options, exchange, upload, archiveBytes);
        try {
          const stored = await transfers.run(principal, upload.app, receiving);
          const { filename, sizeBytes: size, uploadedAtMs } = stored;
          const uploadedAt = new Date(uploadedAtMs).toISOString();
          const answer = { ok: true, upload: { filename, size, uploadedAt } };
          exchange.json(200, answer, { 'Cache-Control': 'no-store' });
        } catch (error) {
          if (!(error instanceof ClientLeft)) throw error;
          options.logger.info({ app: upload.app.id }, 'upload_broken_off');
        }
      },
    },
  ];
}

/** Makes every check that is possible before the body is read. */
function admit(
  options: UploadRoutesOptions,
  exchange: Exchange,
  principal: Principal,
  archiveBytes: number,
): Upload {
  const app = appFor(options, exchange, principal);
  if (exchange.headerCount('x-upload-filename') > 1) {
    throw new ServiceError('FILENAME_REQUIRED', 'There is more than one X-Upload-Filename.');
  }
  const filename = uploadFilename(exchange.header('x-upload-filename'));
  const format = formatOf(filename);
  if (Number(exchange.header('content-length') || 0) > archiveBytes) {
    throw new ServiceError('PAYLOAD_TOO_LARGE', `An archive has ${archiveBytes} bytes at most.`, {
      extensions: { maxBytes: archiveBytes },
    });
  }
  const id = randomUUID();
  return { id, app, filename, format, blob: `${id}.${format}` };
}

/** The app, for a caller who may upload to it now: NOT_FOUND, FORBIDDEN. */
function appFor(
  options: UploadRoutesOptions,
  exchange: Exchange,
  principal: Principal,
): Readonly<AppRecord> {
  return permittedApp(options, principal, exchange.param('id'), 'deploy_apps');
}

/** Reserves the app, receives the body, and makes the app point at it. */
async function store(
  options: UploadRoutesOptions,
  exchange: Exchange,
  upload: Upload,
  archiveBytes: number,
): Promise<StoredUpload> {
  const { actors, logger, now = Date.now } = options;
  const ref = appActor.at(upload.app.id);
  const place = await actors.ask(ref, { type: 'upload-begin', uploadId: upload.id });
  try {
    const file = await receive(options, exchange, upload, place, archiveBytes);
    const stored: StoredUpload = {
      filename: upload.filename,
      sizeBytes: file.sizeBytes,
      sha256: file.sha256,
      format: upload.format,
      uploadedAtMs: now(),
      blob: upload.blob,
    };
    // The body may have taken long, so the caller may have lost the right or the session.
    appFor(options, exchange, options.authenticate(exchange));
    await actors.ask(ref, { type: 'upload-commit', uploadId: upload.id, upload: stored });
    return stored;
  } catch (error) {
    // The actor also knows what to remove after a failed commit.
    const abort = { type: 'upload-abort', uploadId: upload.id } as const;
    await actors.ask(ref, abort).catch((cause: unknown) => {
      logger.warn({ app: upload.app.id, err: cause }, 'upload_not_aborted');
    });
    throw error;
  }
}

/** Hands the body to the bulk pool, chunk by chunk. When it rejects, nothing is left of the file. */
async function receive(
  { bulk }: UploadRoutesOptions,
  exchange: Exchange,
  { format }: Upload,
  { dir, name }: { dir: string; name: string },
  archiveBytes: number,
): Promise<ReceivedFile> {
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedFile>();
  let flow: BodyFlow | null = null;
  const incoming: IncomingFile = await bulk.receive({
    ...{ format, dir, blob: name },
    onRoom: () => flow?.resume(),
    onFailure: reject,
  });
  flow = exchange.streamBody(archiveBytes, {
    chunk: (bytes) => incoming.write(bytes),
    end: () => {
      incoming.end().then(resolve, reject);
    },
    fail: (reason) => {
      const error = reason === 'aborted' ? new ClientLeft() : reason;
      void incoming.abort().then(() => {
        reject(error);
      });
    },
  });
  return promise;
}

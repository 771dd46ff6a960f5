/**
 * Owns `GET /api/apps/:id/source`: the archive that an app was last given, or what was fetched for the release that
 * is live, as a zip.
 *
 * 1. The checks run in this order: the caller (401), the caller's rights (404, 403), whether there is an
 *    archive (404 NO_UPLOAD), whether it fits into a zip (422 SOURCE_TOO_LARGE). Then the zip begins.
 * 2. The zip holds the stored archive: nothing that the running app has written, and no link in it is
 *    followed.
 * 3. A client that reads slowly costs one window of bytes. When it leaves, nothing more is read.
 * 4. Each download is in the activity before its first byte is sent.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceBlob } from '../../actors/app/settings/git-source.ts';
import type { BulkPool } from '../../archives/receiving/bulk-pool.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import { PacedStream } from '../http/paced-stream.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, StoredUpload } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { permittedApp, type ResourceRights } from '../resources.ts';
import type { Exchange, Route } from '../transport.ts';
import { Transfers } from './transfers.ts';

export interface SourceRoutesOptions extends ResourceRights {
  bulk: Pick<BulkPool, 'send'>;
  /** The folder of archives, with a folder for each app. */
  uploadsRoot: string;
  /** Default: those of this route alone. */
  transfers?: Transfers;
  /** The person behind the session cookie: COOKIE_REQUIRED, UNAUTHENTICATED. */
  authenticate: (exchange: Exchange) => Principal;
  /** Resolves when the activity holds that this request reads the source. */
  note: (exchange: Exchange, principal: Principal) => Promise<unknown>;
}

export function sourceRoutes(options: SourceRoutesOptions): Route[] {
  const { transfers = new Transfers() } = options;
  return [
    {
      method: 'GET',
      path: '/api/apps/:id/source',
      handle: (exchange) => {
        const principal = options.authenticate(exchange);
        const app = permittedApp(options, principal, exchange.param('id'), 'configure_apps');
        return transfers.run(principal, app, () => sendSource(options, exchange, principal, app));
      },
    },
  ];
}

async function sendSource(
  options: SourceRoutesOptions,
  exchange: Exchange,
  principal: Principal,
  app: Readonly<AppRecord>,
): Promise<void> {
  const { bulk, uploadsRoot, note, reader } = options;
  const { id, slug } = app;
  const source = app.upload ?? (await fetchedFor(reader, app, join(uploadsRoot, id)));
  if (source === null) {
    throw new ServiceError('NO_UPLOAD', 'There is no archive of the source of this app.');
  }
  const { blob, format, uploadedAtMs: modifiedMs } = source;
  const archive = join(uploadsRoot, id, blob);
  try {
    const chunks = await bulk.send({ archive, format, modifiedMs }, exchange.signal);
    await note(exchange, principal);
    const stream = exchange.stream(200, {
      'Content-Type': 'application/zip',
      'Content-Disposition': `attachment; filename="${slug}.zip"`,
      'Cache-Control': 'no-store',
    });
    const paced = new PacedStream(stream, exchange.signal);
    for await (const chunk of chunks) {
      if (!(await paced.write(chunk))) return;
    }
    stream.end();
  } catch (error) {
    // A client that has left gets no answer.
    if (!exchange.aborted) throw error;
  }
}

/** Of an app from git: what its live release was built from. */
async function fetchedFor(
  reader: Reader,
  { source, liveDeploymentId }: Readonly<AppRecord>,
  folder: string,
): Promise<Pick<StoredUpload, 'blob' | 'format' | 'uploadedAtMs'> | null> {
  if (source !== 'GIT' || liveDeploymentId === null) return null;
  const live = reader.get(tables.deployments, liveDeploymentId);
  if (live === undefined) return null;
  const blob = sourceBlob(live);
  const found = await stat(join(folder, blob)).catch(() => null);
  return found && { blob, format: 'tar', uploadedAtMs: live.createdAtMs };
}

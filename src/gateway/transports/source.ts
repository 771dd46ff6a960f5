/**
 * Owns `GET /api/apps/:id/source`: the archive that an app was last given, as a zip.
 *
 * 1. The checks run in this order: the caller (401), the caller's rights (404, 403), whether there is an
 *    archive (404 NO_UPLOAD), whether it fits into a zip (422 SOURCE_TOO_LARGE). Then the zip begins.
 * 2. The zip holds the stored archive: nothing that the running app has written, and no link in it is
 *    followed.
 * 3. A client that reads slowly costs one window of bytes. When it leaves, nothing more is read.
 * 4. Each download is in the activity before its first byte is sent.
 */
import { join } from 'node:path';
import type { BulkPool } from '../../archives/receiving/bulk-pool.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import { PacedStream } from '../http/paced-stream.ts';
import type { AppRecord } from '../../store/records/records.ts';
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
  { id, slug, upload }: Readonly<AppRecord>,
): Promise<void> {
  const { bulk, uploadsRoot, note } = options;
  if (upload === null) {
    throw new ServiceError('NO_UPLOAD', 'No archive was uploaded to this app.');
  }
  const { blob, format, uploadedAtMs: modifiedMs } = upload;
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

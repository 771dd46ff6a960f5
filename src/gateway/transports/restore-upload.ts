/**
 * Owns `POST /api/backups/restore-upload?app=<id>` or `?database=<id>`: an artifact in the body overwrites the
 * target's data.
 *
 * 1. The checks run in this order: the caller (401, 403 CROSS_SITE), the target (400), the caller's rights
 *    (404, 403), the declared length (413). Then the first 128 KiB are read, which decide about the artifact
 *    (415, 428, 422), the target is reserved (409), and the disk has to have room (507). Then the answer is 200 and
 *    a log in plain text.
 * 2. What goes wrong later is the last line of the log. A line `restore: ok` or `restore: failed: <reason>` is
 *    the last one, unless the caller lost the right to see it.
 * 3. A client that leaves before the artifact is whole takes it along, and nothing was touched. One that
 *    leaves later leaves the restore alone.
 * 4. The recovery key is handed on and kept nowhere.
 */
import { appActor } from '../../actors/app/protocol.ts';
import { databaseActor } from '../../actors/database/protocol.ts';
import type { RestoreProtocol } from '../../actors/restore/protocol.ts';
import type { ActorRef, Actors } from '../../actors/runtime/actor.ts';
import type { IncomingFile } from '../../archives/receiving/bulk-lane.ts';
import type { BulkPool } from '../../archives/receiving/bulk-pool.ts';
import type { Need, Resource } from '../../auth/rights/authorize.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { headBytes, packingOf } from '../../backups/restores/artifact-head.ts';
import { type Clock, hasPassed, pause } from '../../lib/clock.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { PacedStream } from '../http/paced-stream.ts';
import { type AppOrDatabase, resourceAt, type ResourceRights } from '../resources.ts';
import type { Exchange, ResponseStream, Route } from '../transport.ts';
import { ArtifactBody, ClientLeft } from './artifact-body.ts';
import { Transfers } from './transfers.ts';

export interface RestoreUploadOptions extends ResourceRights {
  bulk: Pick<BulkPool, 'receive'>;
  actors: Actors;
  /** The person behind the session cookie: COOKIE_REQUIRED, UNAUTHENTICATED, CROSS_SITE. */
  authenticate: (exchange: Exchange) => Principal;
  can: (reader: Reader, principal: Principal, need: Need, resource: Resource) => boolean;
  /** Throws RECOVERY_KEY_WRONG unless the key opens the artifact that begins like this. */
  proveKey: (head: Uint8Array, recoveryKey: string) => void;
  /** Default: those of these routes alone. */
  transfers?: Transfers;
  clock: Clock;
  logger: Logger;
  /** Bytes of an artifact; above it PAYLOAD_TOO_LARGE. */
  artifactBytes: number;
}

interface Restore {
  options: RestoreUploadOptions;
  exchange: Exchange;
  target: AppOrDatabase;
  ref: ActorRef<RestoreProtocol>;
  recoveryKey: string | null;
}

/** How often the log is looked at. */
const lookMs = 200;
const progressEveryMs = 2_000;

export function restoreUploadRoutes(options: RestoreUploadOptions): Route[] {
  const { transfers = new Transfers() } = options;
  return [
    {
      method: 'POST',
      path: '/api/backups/restore-upload',
      audit: 'restore_upload',
      handle: async (exchange) => {
        const principal = options.authenticate(exchange);
        const target = targetOf(options.reader, exchange.query);
        options.authorize(options.reader, principal, 'restore_backups', target);
        const recoveryKey = recoveryKeyOf(exchange);
        checkLength(exchange, options.artifactBytes);
        const restore = { options, exchange, target, ref: refOf(target), recoveryKey };
        const { teamId } = target.kind === 'app' ? target.app : target.database;
        await transfers.run(principal, { teamId }, () => receiveAndRestore(restore));
      },
    },
  ];
}

/** BAD_REQUEST, NOT_FOUND. */
function targetOf(reader: Reader, query: URLSearchParams): AppOrDatabase {
  const [apps, databases] = [query.getAll('app'), query.getAll('database')];
  const [id = '', another] = [...apps, ...databases];
  if (id === '' || another !== undefined) {
    throw new ServiceError('BAD_REQUEST', 'Name one target: ?app=<id> or ?database=<id>.');
  }
  return resourceAt(reader, apps.length > 0 ? 'app' : 'database', id);
}

function refOf(target: AppOrDatabase): ActorRef<RestoreProtocol> {
  return target.kind === 'app' ? appActor.at(target.app.id) : databaseActor.at(target.database.id);
}

function recoveryKeyOf(exchange: Exchange): string | null {
  if (exchange.headerCount('x-recovery-key') > 1) {
    throw new ServiceError('BAD_REQUEST', 'There is more than one X-Recovery-Key.');
  }
  return exchange.header('x-recovery-key').trim() || null;
}

/** Of the body; 0 where it is not declared. */
function declaredBytes(exchange: Exchange): number {
  return Number(exchange.header('content-length') || 0);
}

function checkLength(exchange: Exchange, artifactBytes: number): void {
  if (declaredBytes(exchange) <= artifactBytes) return;
  throw new ServiceError('PAYLOAD_TOO_LARGE', `An artifact has ${artifactBytes} bytes at most.`, {
    extensions: { maxBytes: artifactBytes },
  });
}

async function receiveAndRestore(restore: Restore): Promise<void> {
  const { options, exchange, ref, target } = restore;
  const { actors, logger } = options;
  const body = new ArtifactBody(headBytes);
  body.flow = exchange.streamBody(options.artifactBytes, body);
  try {
    const key = judge(restore, await body.head);
    const { run, dir, name } = await actors.ask(ref, { type: 'restore-begin' });
    const stream = await receive(restore, run.id, body, { dir, name });
    await commit(restore, run.id, key, stream);
  } catch (error) {
    if (!(error instanceof ClientLeft)) throw error;
    logger.info({ target: idOf(target) }, 'restore_upload_broken_off');
  }
}

/** What opens the artifact that begins like this: 415, 428, 422. */
function judge({ options, recoveryKey }: Restore, head: Uint8Array): string | null {
  const packing = packingOf(head);
  if (packing === null) {
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'The artifact is neither gzip nor age.');
  }
  if (packing === 'gzip') return null;
  if (recoveryKey === null) {
    const detail = 'The artifact is encrypted: its recovery key has to be in X-Recovery-Key.';
    throw new ServiceError('RECOVERY_KEY_REQUIRED', detail);
  }
  options.proveKey(head, recoveryKey);
  return recoveryKey;
}

/** Begins the answer when the artifact can be received; null: it has failed, and the last line is written. */
async function receive(
  restore: Restore,
  restoreId: string,
  body: ArtifactBody,
  place: { dir: string; name: string },
): Promise<ResponseStream | null> {
  const { options, exchange, ref } = restore;
  let stream: ResponseStream | null = null;
  try {
    const incoming: IncomingFile = await options.bulk.receive({
      ...{ format: 'bytes', dir: place.dir, blob: place.name },
      declaredBytes: declaredBytes(exchange),
      onRoom: () => body.flow?.resume(),
      onFailure: (error) => body.broke(error),
    });
    const begun = exchange.stream(200, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    });
    stream = begun;
    begun.write(`Restore ${restoreId}: receiving the artifact.\n`);
    body.progress = receivingLines(options.clock, begun);
    const { sizeBytes, sha256 } = await body.into(incoming);
    begun.write(`Received ${mebibytes(sizeBytes)}, SHA-256 ${sha256}.\n`);
    // The body may have taken long, so the caller may have lost the right or the session.
    authorizeAgain(restore);
    return begun;
  } catch (error) {
    const told = asServiceError(error);
    const hasLeft = error instanceof ClientLeft;
    if (!hasLeft && told.code === 'INTERNAL')
      options.logger.error({ err: error }, 'restore_upload_failed');
    const reason = hasLeft ? 'The upload was broken off.' : reasonOf(told);
    const message = { type: 'restore-abort', restoreId, reason } as const;
    await options.actors.ask(ref, message).catch((cause: unknown) => {
      options.logger.warn({ restore: restoreId, err: cause }, 'restore_not_aborted');
    });
    if (hasLeft || stream === null) throw error;
    stream.end(`Nothing was changed.\nrestore: failed: ${reason}\n`);
    return null;
  }
}

/** Lets the restore begin, and shows its log to its end. */
async function commit(
  restore: Restore,
  restoreId: string,
  recoveryKey: string | null,
  stream: ResponseStream | null,
): Promise<void> {
  if (stream === null) return;
  const { options, exchange, ref, target } = restore;
  const { actors, clock, reader, can } = options;
  try {
    const principal = options.authenticate(exchange);
    const rights = {
      configure: can(reader, principal, 'configure_apps', target),
      env: can(reader, principal, 'manage_env', target),
      upload: can(reader, principal, 'deploy_apps', target),
    };
    await actors.ask(ref, { type: 'restore-commit', restoreId, recoveryKey, rights });
    const paced = new PacedStream(stream, exchange.signal);
    for (let from = 0; ;) {
      const news = await actors.ask(ref, { type: 'restore-news', restoreId, from });
      const left = news.next - news.lines.length - from;
      const lines = left > 0 ? [`(${String(left)} lines are left out)`, ...news.lines] : news.lines;
      for (const line of lines) if (!(await paced.write(`${line}\n`))) return;
      from = news.next;
      if (news.status !== 'running') {
        stream.end(news.error === null ? 'restore: ok\n' : `restore: failed: ${news.error}\n`);
        return;
      }
      await pause(clock, lookMs, exchange.signal);
      if (!mayStillSee(restore)) {
        stream.end();
        return;
      }
    }
  } catch (error) {
    // Whoever left takes nothing along.
    if (exchange.aborted) return;
    const { code, message } = asServiceError(error);
    options.logger.warn({ restore: restoreId, err: error }, 'restore_not_followed');
    stream.end(
      `restore: failed: ${message} (${code}) The restoreRun ${restoreId} tells how it ends.\n`,
    );
  }
}

function authorizeAgain({ options, exchange, target }: Restore): void {
  const principal = options.authenticate(exchange);
  const now = resourceAt(options.reader, target.kind, idOf(target));
  options.authorize(options.reader, principal, 'restore_backups', now);
}

function mayStillSee(restore: Restore): boolean {
  try {
    authorizeAgain(restore);
    return true;
  } catch {
    // The one reason to end the log early.
    return false;
  }
}

function receivingLines(clock: Clock, stream: ResponseStream): (bytes: number) => void {
  let toldAtMs = clock.now();
  return (bytes) => {
    if (!hasPassed(clock, toldAtMs, progressEveryMs)) return;
    toldAtMs = clock.now();
    stream.write(`Received ${mebibytes(bytes)}.\n`);
  };
}

function idOf(target: AppOrDatabase): string {
  return target.kind === 'app' ? target.app.id : target.database.id;
}

function reasonOf({ message, code }: ServiceError): string {
  return `${message} (${code})`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

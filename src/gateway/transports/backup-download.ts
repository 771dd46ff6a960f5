/**
 * Owns `GET /api/backups/:runId/download`: the artifact of a backup, from a folder of this server.
 *
 * 1. The checks run in this order: the caller (401), whether the caller sees the backup (404) and may restore
 *    it (403), whether it is finished (409 RUN_NOT_FINISHED), where it is (409 OBJECT_STORAGE), whether it is
 *    there (410 ARTIFACT_GONE). Then the conditions and the range of the request count.
 * 2. An encrypted artifact is opened on its way, so that the answer is gzip. `?raw=1` gives it as it is stored.
 *    Stored bytes come with their length and by ranges, opened ones without. A backup of the instance is always
 *    sent as it is stored, to the instance administrator alone.
 * 3. A client that reads slowly costs a few chunks. When it leaves, nothing more is read.
 * 4. Each download is in the activity before its first byte is sent.
 */
import { placeOf, recoveryContext, type ServerRoots } from '../../actors/destination/place.ts';
import type { ServerPlace } from '../../backups/destinations/destination.ts';
import type { ArtifactSender } from '../../backups/sending/artifact-sender.ts';
import { takenFrom } from '../../backups/streams/chunks.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import { resourceOfBackup } from '../../auth/rights/backup-resource.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { BackupRunRecord, DestinationRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../../store/secrets.ts';
import { PacedStream } from '../http/paced-stream.ts';
import { hasMatch, mayMatch, rangeCounts, wantedBytes } from '../http/ranges.ts';
import type { ResourceRights } from '../resources.ts';
import type { Exchange, Headers, Route } from '../transport.ts';
import { badInput, queryValue } from './query-values.ts';
import type { Transfers } from './transfers.ts';

export interface BackupDownloadOptions extends ResourceRights {
  artifacts: Pick<ArtifactSender, 'send'>;
  roots: ServerRoots;
  secrets: Pick<SecretBox, 'open' | 'seal'>;
  transfers: Transfers;
  /** The person behind the session cookie: COOKIE_REQUIRED, UNAUTHENTICATED. */
  authenticate: (exchange: Exchange) => Principal;
  /** Resolves when the activity holds that this request reads the backup. */
  note: (exchange: Exchange, principal: Principal) => Promise<unknown>;
}

export function backupDownloadRoutes(options: BackupDownloadOptions): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/backups/:runId/download',
      head: true,
      handle: (exchange) => {
        const principal = options.authenticate(exchange);
        const run = permittedRun(options, principal, exchange.param('runId'));
        return options.transfers.run(principal, run, () =>
          download(options, exchange, principal, run),
        );
      },
    },
  ];
}

/** An artifact that is finished, and in a folder. */
interface Stored {
  place: ServerPlace;
  key: string;
  sizeBytes: number;
  sha256: string;
  /** Opens it; null where it is sent as it is stored. */
  recoveryKey: string | null;
  /** Whether what is stored is not gzip, but an age file. */
  isRaw: boolean;
}

function permittedRun(
  { reader, authorize }: BackupDownloadOptions,
  principal: Principal,
  runId: string,
): Readonly<BackupRunRecord> {
  const run = reader.get(tables.backupRuns, runId);
  if (run === undefined) throw new ServiceError('NOT_FOUND', 'No such backup.');
  authorize(reader, principal, 'restore_backups', resourceOfBackup(reader, run));
  return run;
}

async function download(
  options: BackupDownloadOptions,
  exchange: Exchange,
  principal: Principal,
  run: Readonly<BackupRunRecord>,
): Promise<void> {
  const stored = storedOf(options, run, wantsRaw(exchange));
  const { sizeBytes, recoveryKey } = stored;
  const headers = headersOf(stored);
  const etag = headers['ETag'] ?? '';
  if (!mayMatch(exchange.header('if-match'), etag)) {
    throw new ServiceError('PRECONDITION_FAILED', 'The backup is not what If-Match names.');
  }
  if (hasMatch(exchange.header('if-none-match'), etag)) {
    exchange.send(304, headers, '');
    return;
  }
  const isRanged =
    !exchange.headOnly && recoveryKey === null && rangeCounts(exchange.header('if-range'), etag);
  const wanted = isRanged ? wantedBytes(exchange.header('range'), sizeBytes) : 'all';
  if (wanted === 'none') throw notSatisfiable(sizeBytes);
  const range = wanted === 'all' ? null : wanted;
  const { place, key } = stored;
  const over = new AbortController();
  const signal = AbortSignal.any([exchange.signal, over.signal]);
  try {
    const request = { place, key, sizeBytes, range, recoveryKey };
    const chunks = await options.artifacts.send(request, signal);
    if (!exchange.headOnly) await options.note(exchange, principal);
    if (recoveryKey !== null) await sendAll(exchange, chunks, 200, headers);
    else if (range === null) await sendAll(exchange, chunks, 200, headers, sizeBytes);
    else {
      const { start, end } = range;
      const part = { 'Content-Range': `bytes ${start}-${end}/${sizeBytes}` };
      await sendAll(exchange, chunks, 206, { ...headers, ...part }, end - start + 1);
    }
  } catch (error) {
    // A client that has left gets no answer.
    if (!exchange.aborted) throw error;
  } finally {
    over.abort();
  }
}

async function sendAll(
  exchange: Exchange,
  chunks: AsyncIterable<Uint8Array>,
  status: number,
  headers: Headers,
  length?: number,
): Promise<void> {
  const stream = exchange.stream(status, headers, length);
  const paced = new PacedStream(stream, exchange.signal);
  for await (const chunk of takenFrom(chunks)) {
    if (!(await paced.write(chunk))) return;
  }
  stream.end();
}

function storedOf(
  { reader, roots, secrets }: BackupDownloadOptions,
  run: Readonly<BackupRunRecord>,
  wantsStored: boolean,
): Stored {
  if (run.status === 'running' || run.status === 'verifying') {
    throw new ServiceError('RUN_NOT_FINISHED', 'This backup is still being made.');
  }
  const { key, sizeBytes, sha256 } = run;
  const destination = reader.get(tables.destinations, run.destinationId);
  const isThere = run.artifact === 'stored' && destination !== undefined;
  if (!isThere || key === null || sizeBytes === null || sha256 === null) {
    throw new ServiceError('ARTIFACT_GONE', 'There is no artifact of this backup any more.');
  }
  const place = placeOf(destination, roots, secrets);
  if (place.kind === 's3') throw inBucket(place.bucket, place.prefix + key, place.endpoint);
  // It is never sent unencrypted.
  const isRaw = run.encrypted && (wantsStored || run.kind === 'instance');
  const recoveryKey = run.encrypted && !isRaw ? recoveryKeyOf(destination, secrets) : null;
  return { place, key, sizeBytes, sha256, recoveryKey, isRaw };
}

function recoveryKeyOf(
  { id, encryption }: Readonly<DestinationRecord>,
  secrets: BackupDownloadOptions['secrets'],
): string {
  if (encryption !== null) return secrets.open(encryption.recoveryKeySealed, recoveryContext(id));
  throw new Error('Cannot open a backup: its destination has no key');
}

/** The stored bytes and the opened ones have tags of their own. */
function headersOf({ key, sha256, recoveryKey, isRaw }: Stored): Headers {
  const filename = recoveryKey === null ? key : key.replace(/\.age$/, '');
  return {
    'Content-Type': isRaw ? 'application/octet-stream' : 'application/gzip',
    'Content-Disposition': `attachment; filename="${filename}"`,
    ETag: recoveryKey === null ? `"${sha256}"` : `"${sha256}-opened"`,
    'Accept-Ranges': recoveryKey === null ? 'bytes' : 'none',
    'Cache-Control': 'no-store',
  };
}

function wantsRaw({ query }: Exchange): boolean {
  const raw = queryValue(query, 'raw');
  if (raw === undefined || raw === '0') return false;
  if (raw === '1') return true;
  throw badInput('raw is 1, or absent.');
}

function inBucket(bucket: string, key: string, endpoint: string): ServiceError {
  const detail = `This backup is in a bucket: fetch ${key} from ${bucket} with your own credentials.`;
  return new ServiceError('OBJECT_STORAGE', detail, { extensions: { bucket, key, endpoint } });
}

function notSatisfiable(bytes: number): ServiceError {
  const detail = `The backup has ${String(bytes)} bytes: none of them is in this range.`;
  const headers = { 'Content-Range': `bytes */${String(bytes)}` };
  return new ServiceError('RANGE_NOT_SATISFIABLE', detail, { headers });
}

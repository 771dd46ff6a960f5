/**
 * Owns pushes by git (gitprotocol-http(5)) to `/git/<app id or slug>.git`, with an API token as the password.
 *
 * 1. The checks run in this order: the caller (401), the caller's rights (404, 403), what is asked for (403, 415),
 *    the app's source (409). Git gets errors as plain text, which it shows.
 * 2. What is pushed arrives in a file; only then git sees it. A client that leaves earlier takes it along.
 * 3. The answer is git's own report, then the log of the deployment to its end. A client that leaves meanwhile leaves
 *    the deployment alone, and one that loses the right gets no more of the log.
 */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PushOutcome } from '../../actors/push/protocol.ts';
import { pushActor } from '../../actors/push/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { BulkPool } from '../../archives/receiving/bulk-pool.ts';
import type { SignedIn } from '../../auth/callers/principal.ts';
import { flushPacket, packet } from '../../git/pkt-line.ts';
import { type PushLimits, pushLimits } from '../../git/pushes/pushes.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogReader } from '../../logs/files/log.ts';
import type { AppRecord, DeploymentRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { Callers } from '../credentials.ts';
import { PacedStream } from '../http/paced-stream.ts';
import { permittedApp, type ResourceRights } from '../resources.ts';
import type { BodyFlow, Exchange, Route } from '../transport.ts';
import type { Transfers } from './transfers.ts';

export interface GitPushOptions extends ResourceRights {
  actors: Actors;
  callers: Pick<Callers, 'basic'>;
  bulk: Pick<BulkPool, 'receive'>;
  transfers: Transfers;
  /** Where pushes arrive, in a folder for each app. */
  pushesRoot: string;
  logs: LogReader;
  clock: Clock;
  logger: Logger;
  limits?: Pick<PushLimits, 'pushBytes' | 'receiveMs'>;
}

/** The client left: there is nobody to answer. */
class ClientLeft extends Error {}

/** What git needs to end when its time is over. */
const endingMs = 10_000;
const lookMs = 200;
const linesAtOnce = 500;
const lineMaxBytes = 1000;
const noStore = { 'Cache-Control': 'no-store' };

export function gitPushRoutes(options: GitPushOptions): Route[] {
  return [
    {
      method: 'GET',
      path: '/git/:app/info/refs',
      handle: (exchange) => sendRefs(options, exchange),
      refuse: refuseInText,
    },
    {
      method: 'POST',
      path: '/git/:app/git-receive-pack',
      audit: 'git_push',
      handle: async (exchange) => {
        const { principal, app } = admit(options, exchange);
        checkRequest(exchange);
        await options.transfers.run(principal, app, () => takePush(options, exchange, app));
      },
      refuse: refuseInText,
    },
  ];
}

async function sendRefs(options: GitPushOptions, exchange: Exchange): Promise<void> {
  const { app } = admit(options, exchange);
  if (exchange.query.get('service') !== 'git-receive-pack') {
    throw new ServiceError('FORBIDDEN', 'Only pushes are taken here.');
  }
  const refs = await options.actors.ask(pushActor.at(app.id), { type: 'refs' });
  const body = [packet('# service=git-receive-pack\n'), Buffer.from(flushPacket), refs];
  const type = { 'Content-Type': 'application/x-git-receive-pack-advertisement' };
  exchange.send(200, { ...type, ...noStore }, Buffer.concat(body));
}

/** The app, by its id or slug, for who may deploy it. */
function admit(
  options: GitPushOptions,
  exchange: Exchange,
): { principal: SignedIn; app: Readonly<AppRecord> } {
  const principal = options.callers.basic(exchange);
  const name = exchange.param('app').replace(/\.git$/, '');
  const [bySlug] = options.reader.list(tables.apps, 'slug', [name]);
  const app = permittedApp(options, principal, bySlug?.id ?? name, 'deploy_apps');
  return { principal, app };
}

function checkRequest(exchange: Exchange): void {
  const isPush = exchange.header('content-type') === 'application/x-git-receive-pack-request';
  const encoding = exchange.header('content-encoding');
  if (isPush && (encoding === '' || encoding === 'identity')) return;
  throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'This address takes what git pushes.');
}

async function takePush(
  options: GitPushOptions,
  exchange: Exchange,
  app: Readonly<AppRecord>,
): Promise<void> {
  const pushId = randomUUID();
  try {
    await receive(options, exchange, join(options.pushesRoot, app.id), pushId);
  } catch (error) {
    if (error instanceof ClientLeft) return;
    throw error;
  }
  // The body may have taken long, so the caller may have lost the right.
  admit(options, exchange);
  const type = { 'Content-Type': 'application/x-git-receive-pack-result' };
  // It begins here because git may take its time from now on.
  const stream = exchange.stream(200, { ...type, ...noStore, 'X-Accel-Buffering': 'no' });
  try {
    const { receiveMs } = options.limits ?? pushLimits;
    const message = { type: 'receive', pushId, untilMs: options.clock.now() + receiveMs } as const;
    const asked = { deadlineMs: receiveMs + endingMs };
    const outcome = await options.actors.ask(pushActor.at(app.id), message, asked);
    await tell(options, exchange, outcome, new PacedStream(stream, exchange.signal));
    if (!exchange.aborted) stream.end(outcome.report.length === 0 ? undefined : flushPacket);
  } catch (error) {
    if (exchange.aborted) return;
    const { code, message } = asServiceError(error);
    if (code === 'INTERNAL') options.logger.error({ app: app.id, err: error }, 'push_failed');
    stream.end(Buffer.concat([packet(`\u0003${message}\n`), Buffer.from(flushPacket)]));
  }
}

/** Writes the body into a file. Rejects with ClientLeft, and with the errors of body and file. */
async function receive(
  { bulk, limits = pushLimits }: GitPushOptions,
  exchange: Exchange,
  dir: string,
  blob: string,
): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  let flow: BodyFlow | null = null;
  const onRoom = (): void => flow?.resume();
  const incoming = await bulk.receive({ format: 'bytes', dir, blob, onRoom, onFailure: reject });
  flow = exchange.streamBody(limits.pushBytes, {
    chunk: (bytes) => incoming.write(bytes),
    end: () => {
      incoming.end().then(resolve, reject);
    },
    fail: (reason) => {
      const error = reason === 'aborted' ? new ClientLeft() : reason;
      void incoming.abort().then(() => reject(error));
    },
  });
  await promise;
}

/** Git's report without its end, behind which more may be said, then the log. */
async function tell(
  options: GitPushOptions,
  exchange: Exchange,
  { report, deployment, note }: PushOutcome,
  to: PacedStream,
): Promise<void> {
  const bytes = Buffer.from(report);
  const hasEnd = bytes.subarray(-4).toString('latin1') === flushPacket;
  if (!(await to.write(hasEnd ? bytes.subarray(0, -4) : bytes))) return;
  // Without bands nothing may be said beside the report.
  const hasBands = (bytes[4] ?? 0) > 0 && (bytes[4] ?? 0) < 4;
  if (!hasEnd || !hasBands) return;
  if (note !== null) await to.write(said(note));
  if (deployment !== null) await follow(options, exchange, deployment, to);
}

async function follow(
  options: GitPushOptions,
  exchange: Exchange,
  { id, url }: DeploymentRecord,
  to: PacedStream,
): Promise<void> {
  const { reader, logs, clock } = options;
  const log = `build:${id}` as const;
  let offset = logs.range(log)?.firstOffset ?? 1;
  for (;;) {
    const isOver = (reader.get(tables.deployments, id)?.finishedAtMs ?? null) !== null;
    const { lines, nextOffset } = logs.read(log, offset, linesAtOnce);
    for (const { bytes } of lines) if (!(await to.write(said(bytes)))) return;
    offset = nextOffset;
    if (lines.length > 0) continue;
    if (isOver) break;
    await pause(clock, lookMs, exchange.signal).catch(() => undefined);
    if (exchange.aborted || !mayStillSee(options, exchange)) return;
  }
  const { status } = reader.get(tables.deployments, id) ?? { status: 'canceled' };
  await to.write(
    said(status === 'ready' ? `Live at ${url ?? ''}` : `The deployment is ${status}.`),
  );
}

function mayStillSee(options: GitPushOptions, exchange: Exchange): boolean {
  try {
    admit(options, exchange);
    return true;
  } catch {
    // The one reason to end the log early.
    return false;
  }
}

/** A line that the client's git shows behind `remote:`. Terminals obey nothing in it. */
function said(line: Uint8Array | string): Buffer {
  const text = Buffer.from(line as string)
    .subarray(0, lineMaxBytes)
    .toString()
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
  return packet(Buffer.from(`\u0002${text.trimEnd()}\n`));
}

function refuseInText(exchange: Exchange, error: ServiceError): void {
  if (!exchange.header('user-agent').startsWith('git/')) {
    exchange.problem(error);
    return;
  }
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', ...noStore, ...error.headers };
  exchange.send(error.status, headers, `${error.message}\n`);
}

/**
 * Owns what git providers deliver: pushes to the repositories that apps are built from.
 *
 * 1. The checks run in this order: 404 for an unknown token; 401 for a signature that is not the provider's;
 *    400 for a body that it does not send. GitHub names its App instead of a token: 202 for an unknown one.
 * 2. The 200 is sent once the delivery is durable. The request does not wait for a deployment.
 * 3. A long body is read on a thread of its own. What all bodies take together is bounded: 503 beyond.
 */
import { gitActor } from '../../actors/git/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { DeliveryReader } from '../../git/deliveries/delivery-reader.ts';
import { deliveryHeaders } from '../../git/deliveries/read-delivery.ts';
import { webhookHash } from '../../git/deliveries/webhook-token.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { GitConnectionRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { BodyBudget } from '../http/body-budget.ts';
import type { Exchange, Route } from '../transport.ts';

export interface GitWebhookOptions {
  actors: Actors;
  reader: Pick<Reader, 'find' | 'list'>;
  deliveries: Pick<DeliveryReader, 'read'>;
  /** What the deliveries of a connection are signed with; null for none. */
  secretOf: (connection: Readonly<GitConnectionRecord>) => string | null;
  /** Of all bodies that are here at a time. */
  bodiesMaxBytes?: number;
}

const bodiesMaxBytesDefault = 128 * 1024 * 1024;
const bodyMaxBytes = 25 * 1024 * 1024;
/** Instances of GitHub that number an App alike. */
const appsMax = 10;
const signature = /^sha256=[0-9a-f]{64}$/i;

export function gitWebhookRoutes(options: GitWebhookOptions): Route[] {
  const bodies = new BodyBudget(options.bodiesMaxBytes ?? bodiesMaxBytesDefault);
  return [
    {
      method: 'POST',
      path: '/api/git/webhook/:token',
      // Many pushes change nothing; a deployment is recorded by the app.
      audit: null,
      handle: (exchange) => receive(options, bodies, exchange),
    },
    {
      method: 'POST',
      path: '/api/github/webhook',
      audit: null,
      handle: (exchange) => receiveOfGithub(options, bodies, exchange),
    },
  ];
}

async function receive(
  options: GitWebhookOptions,
  bodies: BodyBudget,
  exchange: Exchange,
): Promise<void> {
  const hash = webhookHash(exchange.param('token'));
  const connection = options.reader.find(tables.gitConnections, 'hook', [hash]);
  if (!connection) throw new ServiceError('NOT_FOUND', 'No such webhook.');
  await bodies.during(exchange, bodyMaxBytes, async (body) => {
    if (!(await isTaken(options, exchange, connection, body))) throw unsigned();
    answer(exchange, 200, 'ok');
  });
}

/** All deliveries of all Apps come here. */
async function receiveOfGithub(
  options: GitWebhookOptions,
  bodies: BodyBudget,
  exchange: Exchange,
): Promise<void> {
  if (!signature.test(exchange.header('x-hub-signature-256'))) throw unsigned();
  const connections = connectionsOfApp(options, exchange);
  // Nobody knows a secret by which its body could be judged.
  if (connections.length === 0) {
    answer(exchange, 202, 'ignored');
    return;
  }
  await bodies.during(exchange, bodyMaxBytes, async (body) => {
    for (const connection of connections) {
      if (!(await isTaken(options, exchange, connection, body))) continue;
      answer(exchange, 200, 'ok');
      return;
    }
    throw unsigned();
  });
}

function connectionsOfApp(
  { reader }: GitWebhookOptions,
  exchange: Exchange,
): Readonly<GitConnectionRecord>[] {
  const appId = exchange.header('x-github-hook-installation-target-id');
  const isApp = exchange.header('x-github-hook-installation-target-type') === 'integration';
  if (!isApp || !/^[1-9]\d{0,14}$/.test(appId)) return [];
  return reader.list(tables.gitConnections, 'githubApp', [Number(appId)], { limit: appsMax });
}

/** False for a delivery that is not signed with the secret of the connection. */
async function isTaken(
  options: GitWebhookOptions,
  exchange: Exchange,
  connection: Readonly<GitConnectionRecord>,
  body: Buffer,
): Promise<boolean> {
  const given = deliveryHeaders.map((name) => [name, exchange.header(name)]);
  const read = await options.deliveries.read({
    provider: connection.provider,
    headers: Object.fromEntries(given) as Record<string, string>,
    body,
    secret: options.secretOf(connection),
  });
  if (read.kind === 'unsigned') return false;
  if (read.kind === 'refused') throw ServiceError.fromPlain(read.error);
  const { pushes } = read;
  if (pushes.length > 0) {
    await options.actors.ask(gitActor.at(connection.id), { type: 'deliver', pushes });
  }
  return true;
}

function unsigned(): ServiceError {
  return new ServiceError('UNAUTHENTICATED', 'The signature of the delivery is not valid.');
}

function answer(exchange: Exchange, status: number, text: string): void {
  const type = 'text/plain; charset=utf-8';
  exchange.send(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }, text);
}

/**
 * Owns the way of an order to its certificate.
 *
 * 1. Where the order is, is kept before anything is done for it. So whoever begins again after a crash, with the same
 *    key, goes on where it stood; one that cannot be gone on with is placed anew.
 * 2. What was shown for a challenge is taken back, whatever becomes of it.
 */
import type { KeyObject } from 'node:crypto';
import { type Clock, pause } from '../lib/clock.ts';
import { certificateRequest } from '../lib/certificate-request.ts';
import { type AcmeClient, type Found, refusal } from './client.ts';
import { CaRefusal, CaUnavailable } from './failures.ts';
import type { Authorization, Challenge, Order } from './resources.ts';

export type ChallengeType = 'http-01' | 'dns-01';

export interface OrderOptions {
  client: AcmeClient;
  clock: Clock;
  names: readonly string[];
  /** Of the certificate, on P-256. */
  key: KeyObject;
  /** Where an order with this key was placed; null: nowhere yet. */
  placedAt: string | null;
  /** Keeps where it is placed. */
  onPlaced: (url: string) => Promise<void>;
  /** How control over a name is shown. */
  challengeFor: (name: string) => ChallengeType;
  /** Shows the answer to a challenge; resolves, once it can be seen, with how it is taken back. */
  show: (
    name: string,
    challenge: { type: ChallengeType; token: string },
  ) => Promise<() => Promise<void>>;
  signal: AbortSignal;
}

const firstLookMs = 200;
const looksMaxMs = 10_000;
/** Of one wait for the authority. */
const waitMaxMs = 5 * 60_000;

/** The chain in PEM, the leaf first. Rejects as AcmeClient does, or with what `show` rejects with. */
export async function obtainCertificate(options: OrderOptions): Promise<string> {
  const { client, key, names, signal } = options;
  let order = await placed(options);
  if (order.value.status === 'pending') {
    for (const url of order.value.authorizations) await prove(options, url);
    order = await settled(options, order, ['pending']);
  }
  if (order.value.status === 'ready') {
    order = await client.finalize(order, certificateRequest(names, key), signal);
  }
  order = await settled(options, order, ['ready', 'processing']);
  const { certificate } = order.value;
  if (certificate === undefined)
    throw new CaUnavailable('It does not say where its certificate is.');
  return await client.certificate(certificate, signal);
}

async function placed(options: OrderOptions): Promise<Found<Order>> {
  const { client, names, placedAt, onPlaced, signal } = options;
  const known = placedAt === null ? null : await orderAt(options, placedAt);
  if (known !== null && known.value.status !== 'invalid') return known;
  const order = await client.newOrder(names, signal);
  await onPlaced(order.url);
  return order;
}

/** Null when the authority does not have it any more. */
async function orderAt(
  { client, signal }: OrderOptions,
  url: string,
): Promise<Found<Order> | null> {
  try {
    return await client.order(url, signal);
  } catch (error) {
    if (error instanceof CaRefusal && error.type !== 'rateLimited') return null;
    throw error;
  }
}

async function prove(options: OrderOptions, url: string): Promise<void> {
  const { client, signal } = options;
  const { value } = await client.authorization(url, signal);
  if (value.status === 'valid') return;
  if (value.status !== 'pending') throw reasonOf(value);
  const name = value.identifier.value;
  const { challenge, type, token } = chosen(options, value);
  const takeBack = await options.show(name, { type, token });
  try {
    await client.ready(challenge, signal);
    await decided(options, url);
  } finally {
    await takeBack();
  }
}

function chosen(
  { names, challengeFor }: OrderOptions,
  { identifier, challenges }: Authorization,
): { challenge: Challenge; type: ChallengeType; token: string } {
  // An authorization of a wildcard names what is below the asterisk.
  const name = names.find((one) => one.replace(/^\*\./, '') === identifier.value);
  const type = challengeFor(name ?? identifier.value);
  const challenge = challenges.find((one) => one.type === type);
  if (challenge?.token === undefined) {
    throw new CaRefusal('unsupported', `It takes no ${type} for ${identifier.value}.`);
  }
  return { challenge, type, token: challenge.token };
}

async function decided({ client, clock, signal }: OrderOptions, url: string): Promise<void> {
  const look = (): Promise<Found<Authorization>> => client.authorization(url, signal);
  const { value } = await waited(await look(), look, ({ status }) => status === 'pending', {
    clock,
    signal,
  });
  if (value.status !== 'valid') throw reasonOf(value);
}

async function settled(
  { client, clock, signal }: OrderOptions,
  order: Found<Order>,
  before: Order['status'][],
): Promise<Found<Order>> {
  const look = (): Promise<Found<Order>> => client.order(order.url, signal);
  const last = await waited(order, look, ({ status }) => before.includes(status), {
    clock,
    signal,
  });
  const { status, error } = last.value;
  if (status === 'invalid') {
    throw error ? refusal(error) : new CaRefusal('invalid', 'It gave the order up.');
  }
  return last;
}

/** Looks again, ever more seldom and never earlier than the authority likes. */
async function waited<T>(
  first: Found<T>,
  look: () => Promise<Found<T>>,
  isWaiting: (value: T) => boolean,
  { clock, signal }: Pick<OrderOptions, 'clock' | 'signal'>,
): Promise<Found<T>> {
  let last = first;
  let leftMs = waitMaxMs;
  for (let waitMs = firstLookMs; isWaiting(last.value); waitMs = Math.min(waitMs * 2, looksMaxMs)) {
    const pauseMs = Math.max(waitMs, last.retryAfterMs ?? 0);
    leftMs -= pauseMs;
    if (leftMs < 0) throw new CaUnavailable('It does not come to a decision.');
    await pause(clock, pauseMs, signal);
    last = await look();
  }
  return last;
}

function reasonOf({ status, challenges }: Authorization): CaRefusal {
  const said = challenges.find(({ error }) => error !== undefined)?.error;
  return said ? refusal(said) : new CaRefusal('unauthorized', `The authorization is ${status}.`);
}

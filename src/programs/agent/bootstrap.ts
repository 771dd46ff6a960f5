/**
 * Owns how an agent gets its first certificate: with a bootstrap token, once.
 *
 * 1. The key is made here, and never leaves.
 * 2. Nobody is believed before the authority that the answer brings has the key whose hash stands in the token.
 * 3. While the control plane is not reached, or has no time, it is tried again; what it refuses is told, and final.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  X509Certificate,
} from 'node:crypto';

import { certificateRequest } from '../../lib/certificate-request.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { bootstrapPath, type BootstrapRequest } from '../../protocol/agent-bootstrap.ts';
import { isRecord } from '../../protocol/agent-wire.ts';
import { authorityHashIn, bootstrapTokenHash } from '../../protocol/bootstrap-token.ts';
import type { Identity } from './identity.ts';

export interface BootstrapOptions {
  /** Of the panel, such as `https://panel.example.com`. */
  controlUrl: string;
  token: string;
  /** Of the machine. */
  name: string;
  version: string;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  /** Between two tries. */
  pauseMs?: { min: number; max: number };
}

/** It makes no sense to try again. */
export class BootstrapRefused extends Error {
  /** Whether another token is needed. */
  readonly needsToken: boolean;

  constructor(sentence: string, needsToken: boolean) {
    super(sentence);
    this.name = 'BootstrapRefused';
    this.needsToken = needsToken;
  }
}

const answerMs = 30_000;
const answerMaxBytes = 64 * 1024;

export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

/** In PEM; it names nobody. */
export function requestFor(key: string): string {
  const der = certificateRequest([], createPrivateKey(key)).toString('base64');
  const lines = der.match(/.{1,64}/g) ?? [];
  return [
    '-----BEGIN CERTIFICATE REQUEST-----',
    ...lines,
    '-----END CERTIFICATE REQUEST-----',
    '',
  ].join('\n');
}

/** Rejects with BootstrapRefused, or with the reason of `signal`. */
export async function bootstrap(options: BootstrapOptions): Promise<Identity> {
  const { token, clock, logger, signal, controlUrl } = options;
  const authorityHash = authorityHashIn(token);
  if (authorityHash === null) throw new BootstrapRefused('This is no bootstrap token.', true);
  const { min, max } = options.pauseMs ?? { min: 1_000, max: 30_000 };
  const key = newKey();
  for (let pauseMs = min; ; pauseMs = Math.min(pauseMs * 2, max)) {
    const told = await ask(options, requestFor(key)).catch((err: unknown) => {
      signal.throwIfAborted();
      if (err instanceof BootstrapRefused) throw err;
      logger.warn({ err, control: controlUrl }, 'control_not_reached');
      return null;
    });
    if (told !== null) return identityIn(told, { ...options, key, authorityHash });
    await pause(clock, pauseMs * (0.5 + Math.random() / 2), signal);
  }
}

/** Null: it is to be tried again. */
async function ask(options: BootstrapOptions, csr: string): Promise<unknown> {
  const { controlUrl, token, name, version, signal, logger } = options;
  const body: BootstrapRequest = { csr, name, version };
  const response = await fetch(new URL(bootstrapPath, controlUrl), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    // The token is for nobody else.
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
  });
  const answer = await jsonOf(response);
  if (response.status === 200) return answer;
  const { detail } = isRecord(answer) ? answer : {};
  const sentence = typeof detail === 'string' ? detail : `It answered ${String(response.status)}.`;
  const passes = response.status >= 500 || response.status === 429 || response.status === 408;
  if (!passes) throw new BootstrapRefused(sentence, response.status === 401);
  logger.warn({ status: response.status, detail: sentence }, 'bootstrap_put_off');
  return null;
}

async function jsonOf(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > answerMaxBytes) throw new Error('Cannot read the answer: it is too large');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch {
    return null; // What is in front of the control plane may answer anything.
  }
}

function identityIn(
  told: unknown,
  own: Pick<BootstrapOptions, 'controlUrl' | 'token'> & { key: string; authorityHash: string },
): Identity {
  const { serverId, certificate, ca, control } = isRecord(told) ? told : {};
  const { host, port } = isRecord(control) ? control : {};
  const texts = [serverId, certificate, ca, host];
  if (!texts.every((one) => typeof one === 'string') || typeof port !== 'number') {
    throw new BootstrapRefused('What answered is no Gangway.', false);
  }
  const answer = told as Pick<Identity, 'serverId' | 'certificate' | 'ca' | 'control'>;
  const authority = new X509Certificate(answer.ca);
  const spki = authority.publicKey.export({ type: 'spki', format: 'der' });
  if (createHash('sha256').update(spki).digest('base64url') !== own.authorityHash) {
    const sentence =
      'What answered is not the Gangway that the token is of: its authority has another key. Is somebody in between?';
    throw new BootstrapRefused(sentence, false);
  }
  const flaw = flawOf(answer.certificate, { ...own, ca: answer.ca, serverId: answer.serverId });
  if (flaw !== null) throw new BootstrapRefused(flaw, true);
  const { controlUrl, token, key } = own;
  return {
    ...{ serverId: answer.serverId, key, certificate: answer.certificate, ca: answer.ca },
    ...{ control: { host: answer.control.host, port: answer.control.port }, controlUrl },
    tokenHash: bootstrapTokenHash(token),
  };
}

/** Why a certificate is not one for this key and server, as a sentence; null: it is. */
export function flawOf(
  certificate: string,
  own: { key: string; ca: string; serverId: string },
): string | null {
  const read = new X509Certificate(certificate);
  if (!read.verify(createPublicKey(own.ca))) return 'The certificate is not of its authority.';
  if (!read.checkPrivateKey(createPrivateKey(own.key))) {
    return 'The certificate is for another key.';
  }
  if (read.subject !== `CN=${own.serverId}`) return 'The certificate is for another server.';
  return null;
}

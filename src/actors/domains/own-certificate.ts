/**
 * Owns the look at a certificate that somebody brings for a host.
 *
 * 1. What passes is what browsers of today accept of a server, as far as that can be seen without knowing whom they
 *    trust: its key, its time, its names, and an unbroken chain.
 * 2. What is kept is written anew from what was read: PEM and nothing else.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type ErrorCode, ServiceError } from '../../lib/errors.ts';
import type { CertificateRecord } from '../../store/records/records.ts';
import { isWildcard } from './host-names.ts';

export interface GivenCertificate {
  /** PEM, that of the host first. */
  certificate: string;
  /** PEM, without a passphrase. */
  privateKey: string;
}

export interface CheckedCertificate extends Omit<CertificateRecord, 'id' | 'key' | 'managed'> {
  /** PEM. */
  key: string;
}

const chainMax = 10;
const [chainBytesMax, keyBytesMax] = [64 * 1024, 16 * 1024];
/** Longer ones would take the edge many milliseconds for each visitor. */
const [rsaBitsMin, rsaBitsMax] = [2048, 4096];
const curves = new Set(['prime256v1', 'secp384r1']);
const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Throws a ServiceError that says what is wrong. No text of the key is in it. */
export function checkCertificate(
  { certificate, privateKey }: GivenCertificate,
  host: string,
  nowMs: number,
): CheckedCertificate {
  const chain = readChain(certificate);
  const [leaf] = chain;
  const key = readKey(privateKey);
  checkKey(leaf.publicKey);
  if (!leaf.checkPrivateKey(key)) {
    throw refused('CERTIFICATE_KEY_MISMATCH', 'The private key is not that of the certificate.');
  }
  const names = namesOf(leaf);
  if (!isGoodFor(leaf, names, host)) {
    throw refused('CERTIFICATE_HOST_MISMATCH', `The certificate is not good for ${host}.`);
  }
  for (const one of chain) checkTime(one, nowMs);
  checkOrder(chain);
  const pem = {
    chain: chain.map((one) => one.toString()).join(''),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  checkUse(pem);
  return { ...pem, names, issuer: issuerOf(leaf), ...timesOf(leaf) };
}

type Chain = [leaf: X509Certificate, ...above: X509Certificate[]];

function readChain(pem: string): Chain {
  const blocks = pem.length > chainBytesMax ? [] : (pem.match(block) ?? []);
  if (blocks.length === 0 || blocks.length > chainMax) {
    const most = `at most ${String(chainMax)} certificates, ${String(chainBytesMax / 1024)} KiB`;
    throw refused('CERTIFICATE_INVALID', `The certificate must be a chain in PEM: ${most}.`);
  }
  try {
    return blocks.map((one) => new X509Certificate(one)) as Chain;
  } catch (cause) {
    throw refused('CERTIFICATE_INVALID', 'The chain holds what is no certificate.', cause);
  }
}

function readKey(pem: string): KeyObject {
  try {
    if (pem.length > keyBytesMax) throw new Error('Cannot read the key: it is too large');
    return createPrivateKey(pem);
  } catch {
    // The cause stays here: nobody knows what it shows.
    throw refused('CERTIFICATE_INVALID', 'The private key must be in PEM, without a passphrase.');
  }
}

function checkKey({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): void {
  const bits = details?.modulusLength ?? 0;
  const isRsa = type === 'rsa' && bits >= rsaBitsMin && bits <= rsaBitsMax;
  if (isRsa || (type === 'ec' && curves.has(details?.namedCurve ?? ''))) return;
  throw refused(
    'CERTIFICATE_INVALID',
    'The key must be RSA of 2048 to 4096 bits, or of the curve P-256 or P-384: browsers take no other.',
  );
}

function checkTime(certificate: X509Certificate, nowMs: number): void {
  const { notBeforeMs, notAfterMs } = timesOf(certificate);
  if (notBeforeMs <= nowMs && nowMs < notAfterMs) return;
  const words = nowMs < notBeforeMs ? 'is not good yet' : 'has run out';
  throw refused('CERTIFICATE_EXPIRED', `A certificate of the chain ${words}.`);
}

function checkOrder(chain: readonly X509Certificate[]): void {
  chain.forEach((one, at) => {
    const above = chain[at + 1];
    if (above === undefined) return;
    if (above.ca && one.checkIssued(above) && one.verify(above.publicKey)) return;
    const place = String(at + 2);
    throw refused(
      'CERTIFICATE_INVALID',
      `Each certificate must be issued by the next one in the chain: number ${place} is not.`,
    );
  });
}

/** What OpenSSL refuses would be refused at the edge: such as a signature by SHA-1. */
function checkUse({ chain: cert, key }: { chain: string; key: string }): void {
  try {
    createSecureContext({ cert, key });
  } catch {
    throw refused('CERTIFICATE_INVALID', 'No connection can be served with this certificate.');
  }
}

function isGoodFor(leaf: X509Certificate, names: readonly string[], host: string): boolean {
  if (isWildcard(host)) return names.includes(host);
  return leaf.checkHost(host, { subject: 'never', partialWildcards: false }) !== undefined;
}

function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  return [...subjectAltName.matchAll(/(?:^|, )DNS:([^,"\s]+)/g)].map(([, name = '']) =>
    name.toLowerCase(),
  );
}

function timesOf({ validFromDate, validToDate }: X509Certificate) {
  return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
}

/** The organisation and the name of whoever signed it. */
function issuerOf({ issuer }: X509Certificate): string {
  const words = ['O', 'CN'].flatMap((field) =>
    issuer
      .split('\n')
      .filter((line) => line.startsWith(`${field}=`))
      .map((line) => line.slice(field.length + 1)),
  );
  return words.join(' ') || issuer.replaceAll('\n', ', ');
}

function refused(code: ErrorCode, detail: string, cause?: unknown): ServiceError {
  return new ServiceError(code, detail, { cause });
}

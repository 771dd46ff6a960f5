/** Owns the look at what an authority has issued, before it is believed. */
import { type KeyObject, X509Certificate } from 'node:crypto';
import { CaRefusal } from './failures.ts';

export interface IssuedChain {
  /** In PEM, the leaf first, and nothing else. */
  chain: string;
  /** Of the leaf, in DER. */
  leaf: Buffer;
  /** For people. */
  issuer: string;
  notBeforeMs: number;
  notAfterMs: number;
}

const certificatesMax = 10;
const block = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Throws CaRefusal for what is no certificate of this key for all of these names. */
export function issuedChain(pem: string, key: KeyObject, names: readonly string[]): IssuedChain {
  const certificates = parsed(pem);
  const [leaf] = certificates;
  if (leaf === undefined || certificates.length > certificatesMax) {
    throw new CaRefusal('unusable', 'It gives no chain of certificates.');
  }
  if (!leaf.checkPrivateKey(key))
    throw new CaRefusal('unusable', 'Its certificate is of another key.');
  const held = hostNamesOf(leaf);
  const missing = names.find((name) => !held.has(name));
  if (missing !== undefined)
    throw new CaRefusal('unusable', `Its certificate is not good for ${missing}.`);
  return {
    chain: certificates.map((one) => one.toString()).join(''),
    leaf: leaf.raw,
    issuer: issuerOf(leaf),
    notBeforeMs: Date.parse(leaf.validFrom),
    notAfterMs: Date.parse(leaf.validTo),
  };
}

/** The leaf of a chain that is stored, in DER. */
export function leafOf(chain: string): Buffer {
  return new X509Certificate(chain).raw;
}

function parsed(pem: string): X509Certificate[] {
  try {
    return (pem.match(block) ?? []).map((one) => new X509Certificate(one));
  } catch {
    throw new CaRefusal('unusable', 'It gives what is no certificate.');
  }
}

function hostNamesOf({ subjectAltName = '' }: X509Certificate): Set<string> {
  return new Set(
    subjectAltName
      .split(', ')
      .filter((one) => one.startsWith('DNS:'))
      .map((one) => one.slice('DNS:'.length).toLowerCase()),
  );
}

/** The organisation and the name of whoever signed it. */
function issuerOf({ issuer }: X509Certificate): string {
  const fields = new Map(
    issuer.split('\n').map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]),
  );
  const words = [fields.get('O'), fields.get('CN')].filter((one) => one !== undefined);
  return words.join(' ') || issuer.replaceAll('\n', ', ');
}

/**
 * Owns the thread that makes certificates of agents: the library for it takes half a second and 17 MB to load, and
 * reads what strangers send.
 *
 * 1. Nothing of a request gets into a certificate but its public key, once its signature shows that the sender has
 *    the private one.
 * 2. Whatever a request is, the answer is a certificate or a sentence.
 */
import 'reflect-metadata';
import { createPublicKey, type KeyObject, randomBytes, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type {
  AgentAnswer,
  AgentRequest,
  KeyedCertificate,
  MadeAuthority,
  NewAuthority,
} from '../../agents/certificate-work.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const strongCurves: ReadonlySet<unknown> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const strongHashes: ReadonlySet<string> = new Set(['SHA-256', 'SHA-384', 'SHA-512']);
const rsaBits = { min: 2048, max: 8192 };
const subjectAltName = '2.5.29.17';
/** One, and nothing around it. */
const pemOfRequest =
  /^\s*-----BEGIN (NEW )?CERTIFICATE REQUEST-----[A-Za-z0-9+/=\s]+-----END (NEW )?CERTIFICATE REQUEST-----\s*$/;

export async function makeAuthority(asked: NewAuthority): Promise<MadeAuthority> {
  const keys = await newKeys();
  const { privateKey: signingKey } = keys;
  const issuer = [{ CN: [asked.name] }];
  const validity = { notBefore: new Date(asked.notBeforeMs), notAfter: new Date(asked.notAfterMs) };
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    ...{ serialNumber: newSerial(), name: issuer, keys, signingAlgorithm: algorithm, ...validity },
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const controlKeys = await newKeys();
  const control = await x509.X509CertificateGenerator.create({
    ...{ serialNumber: newSerial(), issuer, signingKey, signingAlgorithm: algorithm, ...validity },
    subject: [{ CN: [asked.hosts[0] ?? ''] }],
    publicKey: controlKeys.publicKey,
    extensions: [
      ...(await leafExtensions(own, controlKeys.publicKey, x509.ExtendedKeyUsage.serverAuth)),
      new x509.SubjectAlternativeNameExtension(
        asked.hosts.map((value) => ({ type: 'dns' as const, value })),
      ),
    ],
  });
  return {
    authority: await withKey(own, keys.privateKey),
    control: await withKey(control, controlKeys.privateKey),
  };
}

export async function issueForAgent(asked: AgentRequest): Promise<AgentAnswer> {
  const read = await readRequest(asked);
  if ('refused' in read) return read;
  const authority = new x509.X509Certificate(asked.authority.certificate);
  const signingKey = await webcrypto.subtle.importKey(
    'pkcs8',
    x509.PemConverter.decodeFirst(asked.authority.key),
    algorithm,
    false,
    ['sign'],
  );
  const serial = newSerial();
  const certificate = await x509.X509CertificateGenerator.create({
    ...{ serialNumber: serial, signingKey, signingAlgorithm: algorithm },
    issuer: authority.subjectName,
    subject: [{ CN: [asked.subject] }],
    notBefore: new Date(asked.notBeforeMs),
    notAfter: new Date(asked.notAfterMs),
    publicKey: read.key,
    extensions: await leafExtensions(authority, read.key, x509.ExtendedKeyUsage.clientAuth),
  });
  return { certificate: `${certificate.toString('pem')}\n`, serial: serial.toUpperCase() };
}

async function readRequest(
  asked: Pick<AgentRequest, 'csr' | 'subject' | 'known'>,
): Promise<{ key: x509.PublicKey } | { refused: string }> {
  if (!pemOfRequest.test(asked.csr)) {
    return { refused: 'It has to be one request for a certificate (PKCS #10) in PEM.' };
  }
  try {
    const request = new x509.Pkcs10CertificateRequest(asked.csr);
    const flaw =
      flawOfKey(createPublicKey(request.publicKey.toString('pem'))) ??
      flawOfSignature(request) ??
      flawOfNames(request, [asked.subject, ...asked.known]);
    if (flaw !== null) return { refused: flaw };
    if (!(await request.verify())) {
      return { refused: 'Its signature is not made with the key that it is for.' };
    }
    return { key: request.publicKey };
  } catch {
    // Whatever the library says of such bytes says nothing to who made them.
    return { refused: 'It cannot be read as a request for a certificate (PKCS #10).' };
  }
}

function flawOfKey({
  asymmetricKeyType: type,
  asymmetricKeyDetails: of,
}: KeyObject): string | null {
  if (type === 'ec' && strongCurves.has(of?.namedCurve)) return null;
  const bits = of?.modulusLength ?? 0;
  if (type === 'rsa' && bits >= rsaBits.min && bits <= rsaBits.max) return null;
  return 'Its key is too weak, or of an unknown kind: P-256, P-384, P-521 and RSA of 2048 to 8192 bits are taken.';
}

function flawOfSignature(request: x509.Pkcs10CertificateRequest): string | null {
  const { hash } = request.signatureAlgorithm as { hash?: { name: string } };
  if (hash !== undefined && strongHashes.has(hash.name)) return null;
  return 'Its signature is too weak: SHA-256, SHA-384 and SHA-512 are taken.';
}

/** A request may name nobody. */
function flawOfNames(
  request: x509.Pkcs10CertificateRequest,
  known: readonly string[],
): string | null {
  const subjects = request.subjectName.toJSON().flatMap((part) => Object.entries(part));
  const isOwn = subjects.every(
    ([kind, values]) => kind === 'CN' && values.every((value) => known.includes(value)),
  );
  const others = request.getExtensions(subjectAltName).flatMap((extension) => {
    return new x509.GeneralNames(extension.value).items;
  });
  if (isOwn && others.every(({ type, value }) => type === 'dns' && known.includes(value)))
    return null;
  return 'It names somebody else: it may have no name, or that of the server.';
}

async function leafExtensions(
  authority: x509.X509Certificate,
  key: x509.PublicKeyType,
  use: x509.ExtendedKeyUsageType,
): Promise<x509.Extension[]> {
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([use], false),
    await x509.SubjectKeyIdentifierExtension.create(key),
    await x509.AuthorityKeyIdentifierExtension.create(authority),
  ];
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function withKey(
  certificate: x509.X509Certificate,
  key: webcrypto.CryptoKey,
): Promise<KeyedCertificate> {
  const bytes = await webcrypto.subtle.exportKey('pkcs8', key);
  return {
    certificate: `${certificate.toString('pem')}\n`,
    key: `${x509.PemConverter.encode(bytes, x509.PemConverter.PrivateKeyTag)}\n`,
  };
}

/** 16 bytes of chance in hex, positive and without a zero at the front: everybody writes it alike. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f);
  return bytes.toString('hex');
}

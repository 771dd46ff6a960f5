/** Requests for certificates (PKCS #10, RFC 2986) as agents make them, and as others would. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

import type { ServerAuthority } from '../../src/actors/server/added.ts';

export interface RequestedNames {
  /** Its common name. */
  subject?: string;
  /** Names among those of the subject: hosts, addresses of the web, and an IPv4 address. */
  dns?: readonly string[];
  uris?: readonly string[];
  ip?: readonly number[];
  /** Asks to be an authority. */
  isAuthority?: boolean;
  digest?: 'sha1' | 'sha256';
}

const tags = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, text: 0x0c } as const;
const nested = { sequence: 0x30, set: 0x31, attributes: 0xa0 } as const;
const nameTags = { dns: 0x82, uri: 0x86, ip: 0x87 } as const;

/** As DER has them. */
const oids = {
  commonName: '550403',
  extensionRequest: '2a864886f70d01090e',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
  ec: { sha1: '2a8648ce3d0401', sha256: '2a8648ce3d040302' },
  rsa: { sha1: '2a864886f70d010105', sha256: '2a864886f70d01010b' },
  ed25519: '2b6570',
} as const;

export function newAgentKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** In PEM. */
export function requestOf(key: KeyObject, names: RequestedNames): string {
  const { subject, digest = 'sha256' } = names;
  const common = der(nested.sequence, oid(oids.commonName), der(tags.text, text(subject ?? '')));
  const info = der(
    nested.sequence,
    der(tags.integer, Buffer.of(0)),
    der(nested.sequence, ...(subject === undefined ? [] : [der(nested.set, common)])),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    der(nested.attributes, ...attributesOf(names)),
  );
  const type = key.asymmetricKeyType;
  const isEd25519 = type === 'ed25519';
  const algorithm = isEd25519 ? oids.ed25519 : oids[type === 'rsa' ? 'rsa' : 'ec'][digest];
  const signature = sign(isEd25519 ? null : digest, info, key);
  const signed = der(tags.bits, Buffer.of(0), signature);
  return pemOf(der(nested.sequence, info, der(nested.sequence, oid(algorithm)), signed));
}

export function pemOf(request: Buffer): string {
  const lines = request.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`;
}

export function bytesOf(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----.*-----|\s/g, ''), 'base64');
}

function attributesOf({ dns = [], uris = [], ip, isAuthority }: RequestedNames): Buffer[] {
  const others = [
    ...dns.map((name) => der(nameTags.dns, text(name))),
    ...uris.map((name) => der(nameTags.uri, text(name))),
    ...(ip === undefined ? [] : [der(nameTags.ip, Buffer.from(ip))]),
  ];
  const ca = der(nested.sequence, Buffer.of(0x01, 0x01, 0xff));
  const extensions = [
    ...(others.length > 0 ? [extension(oids.subjectAltName, der(nested.sequence, ...others))] : []),
    ...(isAuthority === true ? [extension(oids.basicConstraints, ca)] : []),
  ];
  if (extensions.length === 0) return [];
  const wanted = der(nested.set, der(nested.sequence, ...extensions));
  return [der(nested.sequence, oid(oids.extensionRequest), wanted)];
}

function extension(id: string, value: Buffer): Buffer {
  return der(nested.sequence, oid(id), der(tags.octets, value));
}

function text(of: string): Buffer {
  return Buffer.from(of, 'utf8');
}

function oid(hex: string): Buffer {
  return der(tags.oid, Buffer.from(hex, 'hex'));
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(length < 0x80 ? [length] : long)]), content]);
}

/** Of an instance where nobody adds a server. */
export const noAuthority: ServerAuthority = {
  exists: false,
  caPem: '',
  caKeyHash: '',
  make: () => Promise.reject(new Error('No server is added here.')),
  issueAgentCertificate: () => Promise.reject(new Error('No agent comes here.')),
};

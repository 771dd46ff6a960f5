/** Owns the request for a certificate (PKCS #10, RFC 2986), for host names, or nobody, and a key on P-256. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto';

const tags = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, sequence: 0x30, set: 0x31 };
/** An attribute of the request; a name of a host among the names of the subject. */
const context = { attributes: 0xa0, hostName: 0x82 };

/** 1.2.840.113549.1.9.14, 2.5.29.17 and 1.2.840.10045.4.3.2, as DER has them. */
const oids = {
  extensionRequest: '2a864886f70d01090e',
  subjectAltName: '551d11',
  ecdsaWithSha256: '2a8648ce3d040302',
};

/** In DER, without a common name: all names stand where clients look for them. */
export function certificateRequest(names: readonly string[], key: KeyObject): Buffer {
  const info = sequence(
    der(tags.integer, Buffer.of(0)),
    sequence(),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    der(context.attributes, ...(names.length > 0 ? [hostNames(names)] : [])),
  );
  const signature = sign('sha256', info, key);
  return sequence(
    info,
    sequence(oid(oids.ecdsaWithSha256)),
    der(tags.bits, Buffer.of(0), signature),
  );
}

function hostNames(names: readonly string[]): Buffer {
  const all = names.map((name) => der(context.hostName, Buffer.from(name, 'ascii')));
  const extension = sequence(oid(oids.subjectAltName), der(tags.octets, sequence(...all)));
  return sequence(oid(oids.extensionRequest), der(tags.set, sequence(extension)));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(tags.sequence, ...parts);
}

function oid(hex: string): Buffer {
  return der(tags.oid, Buffer.from(hex, 'hex'));
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes]);
}

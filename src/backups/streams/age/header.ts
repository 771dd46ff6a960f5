/**
 * Owns the header of age files (age-encryption.org/v1), as far as X25519 goes: the file key, wrapped for each
 * recipient in a stanza of its own, and the code that proves the header.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  diffieHellman,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto';
import { corrupt, wrongKey } from '../refusals.ts';
import { type Identity, newIdentity, type PublicKey, publicKeyFrom } from './keys.ts';

interface Stanza {
  args: readonly string[];
  body: Buffer;
}

export const fileKeyBytes = 16;
/** Far more than any file with X25519 recipients needs. */
export const headerMaxBytes = 32 * 1024;

const versionLine = 'age-encryption.org/v1';
const bodyColumns = 64;
const tagBytes = 16;
const label = 'age-encryption.org/v1/X25519';
const cipher = 'chacha20-poly1305';
/** A key that wraps is used once. */
const zeroNonce = Buffer.alloc(12);

/** The header of a file whose key only `recipients` can unwrap. */
export function makeHeader(fileKey: Uint8Array, recipients: readonly PublicKey[]): Buffer {
  const stanzas = recipients.map((recipient) => stanzaFor(fileKey, recipient));
  const proven = [versionLine, ...stanzas, '---'].join('\n');
  return Buffer.from(`${proven} ${base64(proofOf(fileKey, Buffer.from(proven)))}\n`);
}

/** Where the header ends in `bytes`, which begin with it; null when it does not end there. */
export function headerEnd(bytes: Buffer): number | null {
  const last = bytes.indexOf('\n--- ');
  const end = last === -1 ? -1 : bytes.indexOf('\n', last + 1);
  return end === -1 ? null : end + 1;
}

/**
 * The file key out of a whole header. Throws RECOVERY_KEY_WRONG when the key opens none of its stanzas, and
 * ARTIFACT_CORRUPT.
 */
export function openHeader(header: Buffer, identity: Identity): Buffer {
  const { stanzas, proven, proof } = parse(header);
  for (const stanza of stanzas.filter(({ args }) => args[0] === 'X25519')) {
    const fileKey = unwrap(stanza, identity);
    if (fileKey === null) continue;
    const expected = proofOf(fileKey, proven);
    if (proof.length === expected.length && timingSafeEqual(proof, expected)) return fileKey;
    throw corrupt('its header was changed');
  }
  throw wrongKey('The artifact is not encrypted for this recovery key, or its header is damaged.');
}

/** A key of 32 bytes made from another. */
export function derive(from: Uint8Array, salt: Uint8Array, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', from, salt, info, 32));
}

function stanzaFor(fileKey: Uint8Array, recipient: PublicKey): string {
  const once = newIdentity();
  const key = wrapKey(once.secret, recipient, once.public.bytes, recipient.bytes);
  const wrapping = createCipheriv(cipher, key, zeroNonce, { authTagLength: tagBytes });
  const wrapped = Buffer.concat([
    wrapping.update(fileKey),
    wrapping.final(),
    wrapping.getAuthTag(),
  ]);
  return `-> X25519 ${base64(once.public.bytes)}\n${base64(wrapped)}`;
}

/** Null when it is wrapped for somebody else. */
function unwrap({ args, body }: Stanza, { secret, public: own }: Identity): Buffer | null {
  const share = unbase64(args[1] ?? '');
  if (args.length !== 2 || share.length !== 32 || body.length !== fileKeyBytes + tagBytes) {
    throw corrupt('a recipient in its header is not well-formed');
  }
  const key = wrapKey(secret, publicKeyFrom(share), share, own.bytes);
  const opening = createDecipheriv(cipher, key, zeroNonce, { authTagLength: tagBytes });
  opening.setAuthTag(body.subarray(fileKeyBytes));
  const fileKey = opening.update(body.subarray(0, fileKeyBytes));
  try {
    opening.final();
    return fileKey;
  } catch {
    // Its tag is another's.
    return null;
  }
}

function wrapKey(
  secret: KeyObject,
  { key }: PublicKey,
  share: Uint8Array,
  recipient: Uint8Array,
): Buffer {
  return derive(shared(secret, key), Buffer.concat([share, recipient]), label);
}

function shared(secret: KeyObject, key: KeyObject): Buffer {
  try {
    return diffieHellman({ privateKey: secret, publicKey: key });
  } catch (error) {
    // A point of low order, which would make a key that everybody knows.
    throw corrupt('a recipient in its header is not well-formed', error);
  }
}

function proofOf(fileKey: Uint8Array, proven: Uint8Array): Buffer {
  return createHmac('sha256', derive(fileKey, Buffer.alloc(0), 'header'))
    .update(proven)
    .digest();
}

function parse(header: Buffer): { stanzas: Stanza[]; proven: Buffer; proof: Buffer } {
  // As Latin-1 each byte is one character, so that nothing gets lost.
  const lines = header.toString('latin1').slice(0, -1).split('\n');
  const last = lines.pop() ?? '';
  if (lines.shift() !== versionLine) throw corrupt('it is no age file of version 1');
  const stanzas: Stanza[] = [];
  while (lines.length > 0) stanzas.push(parseStanza(lines));
  if (stanzas.length === 0) throw corrupt('its header names no recipient');
  const proof = unbase64(last.slice('--- '.length));
  return { stanzas, proven: header.subarray(0, header.length - 1 - last.length + 3), proof };
}

/** Takes the lines of one stanza. */
function parseStanza(lines: string[]): Stanza {
  const [arrow, ...args] = (lines.shift() ?? '').split(' ');
  if (arrow !== '->' || args.length === 0 || !args.every((arg) => /^[!-~]+$/.test(arg))) {
    throw corrupt('its header is not well-formed');
  }
  let body = '';
  for (let length = bodyColumns; length === bodyColumns;) {
    const line = lines.shift();
    if (line === undefined || line.length > bodyColumns)
      throw corrupt('its header is not well-formed');
    length = line.length;
    body += line;
  }
  return { args, body: unbase64(body) };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

/** Only the one text is taken that `base64` makes of the bytes. */
function unbase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (base64(bytes) !== text) throw corrupt('its header is not well-formed');
  return bytes;
}

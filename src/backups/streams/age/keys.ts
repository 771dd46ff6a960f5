/** Owns the keys of encrypted backups: X25519, in the text forms of age. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { ServiceError } from '../../../lib/errors.ts';
import { wrongKey } from '../refusals.ts';
import { decodeBech32, encodeBech32 } from './bech32.ts';

export interface KeyPair {
  /** `age1…`: whoever has it can encrypt. */
  recipient: string;
  /** `AGE-SECRET-KEY-1…`: whoever has it can decrypt. */
  recoveryKey: string;
}

export interface PublicKey {
  key: KeyObject;
  bytes: Buffer;
}

export interface Identity {
  secret: KeyObject;
  public: PublicKey;
}

const keyBytes = 32;
// What DER (RFC 8410) puts ahead of the bytes of a key.
const publicHead = Buffer.from('302a300506032b656e032100', 'hex');
const secretHead = Buffer.from('302e020100300506032b656e04220420', 'hex');

export function newKeyPair(): KeyPair {
  const { privateKey } = generateKeyPairSync('x25519');
  const bytes = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(secretHead.length);
  const recoveryKey = encodeBech32('age-secret-key-', bytes).toUpperCase();
  return { recipient: recipientOf(recoveryKey), recoveryKey };
}

/** The recipient of a recovery key. Throws RECOVERY_KEY_WRONG for what is none. */
export function recipientOf(recoveryKey: string): string {
  return encodeBech32('age', identityOf(recoveryKey).public.bytes);
}

/** Throws RECOVERY_KEY_WRONG for what is no recovery key. */
export function identityOf(recoveryKey: string): Identity {
  const bytes = decodeBech32('AGE-SECRET-KEY-', recoveryKey);
  if (bytes?.length !== keyBytes) {
    throw wrongKey('This is no recovery key: one is AGE-SECRET-KEY-1 and 58 more characters.');
  }
  const der = Buffer.concat([secretHead, bytes]);
  const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { secret, public: withBytes(createPublicKey(secret)) };
}

/** Throws BAD_USER_INPUT for what is no recipient. */
export function publicKeyOf(recipient: string): PublicKey {
  const bytes = decodeBech32('age', recipient);
  if (bytes?.length !== keyBytes) {
    throw new ServiceError('BAD_USER_INPUT', 'A recipient is age1 and 58 more characters.');
  }
  return publicKeyFrom(bytes);
}

/** `bytes` are the 32 bytes of a key. */
export function publicKeyFrom(bytes: Uint8Array): PublicKey {
  const der = Buffer.concat([publicHead, bytes]);
  return {
    key: createPublicKey({ key: der, format: 'der', type: 'spki' }),
    bytes: der.subarray(publicHead.length),
  };
}

/** A key for one use. */
export function newIdentity(): Identity {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  return { secret: privateKey, public: withBytes(publicKey) };
}

function withBytes(key: KeyObject): PublicKey {
  return { key, bytes: key.export({ format: 'der', type: 'spki' }).subarray(publicHead.length) };
}

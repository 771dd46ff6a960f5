/**
 * Owns the instance key and what is encrypted with it.
 *
 * 1. A sealed value is AES-256-GCM with a nonce of its own and its context as associated data. So
 *    it opens only in its own context, and tampering shows.
 * 2. The key is 32 bytes: given by the operator, or in a 0600 file that is made once and synced. A
 *    key that does not belong to the directory is refused at start, before anything is read with
 *    it.
 * 3. Every other purpose gets a key that is derived from it.
 *
 * A sealed value: version (1 byte, 1), nonce (12), tag (16), ciphertext.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { StoreRefusal } from './refusal.ts';

export const instanceKeyFile = 'instance.key';
/** Tells whether a key belongs to the directory, and nothing else about the key. */
export const keyCheckFile = 'instance.key-check';

export interface SecretBoxOptions {
  /** The data directory; made when missing. */
  dir: string;
  /** The instance key, 32 bytes as base64 or hex; without it the key file's, made when missing. */
  key?: string;
}

export interface SecretBox {
  /** Encrypts for one context, such as `env:<app id>:<name>`. */
  seal(plain: string | Uint8Array, context: string): Uint8Array;
  /** Decrypts to text. Throws when the context, the key or the bytes are not those of `seal`. */
  open(sealed: Uint8Array, context: string): string;
  /** Decrypts to bytes. */
  openBytes(sealed: Uint8Array, context: string): Buffer;
  /** A 32-byte key of its own for one purpose, such as `session-cookie`. */
  derive(purpose: string): Buffer;
}

const version = 1;
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;
const cipher = 'aes-256-gcm';

/** Opens the secrets of a data directory. Throws a StoreRefusal for a key that does not fit. */
export function openSecretBox(options: SecretBoxOptions): SecretBox {
  mkdirSync(options.dir, { recursive: true });
  const key =
    options.key === undefined ? fileKey(options.dir) : parseKey(options.key, 'The given key');
  checkKey(options.dir, key);
  const sealing = derived(key, 'seal');
  return {
    seal: (plain, context) => seal(sealing, plain, context),
    open: (sealed, context) => unseal(sealing, sealed, context).toString('utf8'),
    openBytes: (sealed, context) => unseal(sealing, sealed, context),
    derive: (purpose) => derived(key, `purpose:${purpose}`),
  };
}

function seal(key: Buffer, plain: string | Uint8Array, context: string): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const box = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  box.setAAD(Buffer.from(context, 'utf8'));
  const body = Buffer.concat([
    typeof plain === 'string' ? box.update(plain, 'utf8') : box.update(plain),
    box.final(),
  ]);
  return Buffer.concat([Buffer.from([version]), nonce, box.getAuthTag(), body]);
}

function unseal(key: Buffer, sealed: Uint8Array, context: string): Buffer {
  if (sealed.length < headBytes || sealed[0] !== version) {
    throw new Error('Cannot open a sealed value: its form is unknown.');
  }
  const nonce = sealed.subarray(1, 1 + nonceBytes);
  const box = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  box.setAAD(Buffer.from(context, 'utf8'));
  box.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes));
  try {
    return Buffer.concat([box.update(sealed.subarray(headBytes)), box.final()]);
  } catch (cause) {
    throw new Error('Cannot open a sealed value: key, context or bytes are not those it has.', {
      cause,
    });
  }
}

function derived(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `gangway ${purpose}`, keyBytes));
}

function fileKey(dir: string): Buffer {
  const file = join(dir, instanceKeyFile);
  const known = readIfPresent(file);
  if (known !== undefined) {
    const { mode } = lstatSync(file);
    if ((mode & 0o077) !== 0) {
      throw new StoreRefusal(`Cannot use ${file}: others may read it; set its mode to 0600.`);
    }
    return parseKey(known, `The key in ${file}`);
  }
  if (readIfPresent(join(dir, keyCheckFile)) !== undefined) {
    throw new StoreRefusal(
      `Cannot open the secrets of ${dir}: its instance key is missing; put ${instanceKeyFile} back or give the key.`,
    );
  }
  createOnce(file, `${randomBytes(keyBytes).toString('base64')}\n`);
  return parseKey(readFileSync(file, 'utf8'), `The key in ${file}`);
}

function parseKey(text: string, what: string): Buffer {
  const trimmed = text.trim();
  const isHex = /^[0-9a-f]{64}$/i.test(trimmed);
  const isBase64 = /^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed);
  if (!isHex && !isBase64) {
    throw new StoreRefusal(`${what} is no instance key: 32 bytes as base64 or hex are expected.`);
  }
  return Buffer.from(trimmed, isHex ? 'hex' : 'base64');
}

function checkKey(dir: string, key: Buffer): void {
  const expected = createHmac('sha256', derived(key, 'check')).update('instance').digest();
  const file = join(dir, keyCheckFile);
  createOnce(file, `${expected.toString('hex')}\n`);
  const known = Buffer.from(readFileSync(file, 'utf8').trim(), 'hex');
  if (known.length !== expected.length || !timingSafeEqual(known, expected)) {
    throw new StoreRefusal(`Cannot open the secrets of ${dir}: the instance key is not its own.`);
  }
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes a whole, synced 0600 file, unless it is there. Of two writers at once, one wins. */
function createOnce(file: string, text: string): void {
  if (readIfPresent(file) !== undefined) return;
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const opened = openSync(draft, 'wx', 0o600);
  try {
    writeSync(opened, text);
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  const folder = openSync(join(file, '..'), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Owns what the first bytes of an artifact tell: whether it is compressed, encrypted, or neither. */

/** So many bytes of an upload are looked at before it is answered. */
export const headBytes = 128 * 1024;

const gzipMagic = [0x1f, 0x8b, 8];
const ageMagic = Buffer.from('age-encryption.org/v1\n');

/** Null: it is no artifact. */
export function packingOf(head: Uint8Array): 'gzip' | 'age' | null {
  if (startsWith(head, gzipMagic)) return 'gzip';
  return startsWith(head, ageMagic) ? 'age' : null;
}

function startsWith(bytes: Uint8Array, magic: ArrayLike<number> & Iterable<number>): boolean {
  return bytes.length >= magic.length && [...magic].every((byte, at) => bytes[at] === byte);
}

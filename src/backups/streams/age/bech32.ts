/** Owns the text form of keys: Bech32 (BIP 173), without its limit on the length. */

const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const checksumLength = 6;

/** In lower case. `prefix` is lower case, too. */
export function encodeBech32(prefix: string, bytes: Uint8Array): string {
  const words = regroup(bytes, 8, 5) ?? [];
  const sum =
    polymod([...expanded(prefix), ...words, ...Array<number>(checksumLength).fill(0)]) ^ 1;
  const checksum = Array.from({ length: checksumLength }, (_, i) => (sum >>> (5 * (5 - i))) & 31);
  return `${prefix}1${[...words, ...checksum].map((word) => alphabet[word]).join('')}`;
}

/** The bytes behind `prefix`; null for any other text. All letters are of one case, that of `prefix`. */
export function decodeBech32(prefix: string, text: string): Buffer | null {
  if (!text.startsWith(`${prefix}1`)) return null;
  const isUpper = prefix === prefix.toUpperCase();
  if (text !== (isUpper ? text.toUpperCase() : text.toLowerCase())) return null;
  const data = text.slice(prefix.length + 1).toLowerCase();
  const words = Array.from(data, (letter) => alphabet.indexOf(letter));
  if (words.includes(-1) || words.length < checksumLength) return null;
  if (polymod([...expanded(prefix.toLowerCase()), ...words]) !== 1) return null;
  const bytes = regroup(words.slice(0, -checksumLength), 5, 8);
  return bytes && Buffer.from(bytes);
}

/** The same bits in groups of another size. Null when what fills up the last group is not nothing. */
function regroup(groups: Iterable<number>, from: number, to: number): number[] | null {
  const result: number[] = [];
  let held = 0;
  let bits = 0;
  for (const group of groups) {
    held = (held << from) | group;
    for (bits += from; bits >= to;) {
      bits -= to;
      result.push(held >>> bits);
      held &= (1 << bits) - 1;
    }
  }
  if (to === 5 && bits > 0) result.push(held << (to - bits));
  return to === 8 && (bits >= from || held !== 0) ? null : result;
}

function expanded(prefix: string): number[] {
  const codes = Array.from(prefix, (letter) => letter.charCodeAt(0));
  return [...codes.map((code) => code >>> 5), 0, ...codes.map((code) => code & 31)];
}

function polymod(values: readonly number[]): number {
  let sum = 1;
  for (const value of values) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    for (const [i, constant] of generator.entries()) if ((top >>> i) & 1) sum ^= constant;
  }
  return sum >>> 0;
}

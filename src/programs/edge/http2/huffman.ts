/**
 * Owns the Huffman code of HPACK (RFC 7541, 5.2 and Appendix B).
 *
 * 1. The code is canonical: the lengths of its codes tell it whole.
 * 2. Four bits are read in one step. A text that ends in anything but up to seven bits of padding, all ones, is
 *    malformed, as is one that holds the code that stands for its end.
 */

/** By symbol; the last is the end of a text. */
const codeLengths: readonly number[] = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  ...[28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  ...[6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  ...[5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  ...[13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  ...[7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  ...[6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  ...[20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  ...[24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  ...[22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  ...[21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  ...[26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  ...[19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  ...[20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  ...[26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  30,
];
const endSymbol = 256;
const longestCode = 30;

/** A node of the tree of codes: what a bit leads to, another node or, as its complement, a symbol. */
type Node = [zero: number, one: number];

function treeOf(lengths: readonly number[]): readonly Node[] {
  const nodes: Node[] = [[0, 0]];
  let code = 0;
  for (let length = 1; length <= longestCode; length++) {
    code *= 2;
    for (const [symbol, own] of lengths.entries()) {
      if (own === length) grow(nodes, code++, length, symbol);
    }
  }
  return nodes;
}

function grow(nodes: Node[], code: number, length: number, symbol: number): void {
  let at = 0;
  for (let bit = length - 1; bit >= 0; bit--) {
    const node = nodes[at];
    const side = (code >>> bit) & 1;
    if (node === undefined) return;
    if (bit === 0) node[side] = ~symbol;
    else if (node[side] === 0) node[side] = nodes.push([0, 0]) - 1;
    at = node[side] ?? 0;
  }
}

/** Of a step: it has a symbol, and it leads to no text. */
const [hasSymbol, isWrong] = [0x10000, 0x20000];

/** By node and four bits: the node they lead to, and in the bits from 20 on the symbol that was met. */
const steps = stepsOf(treeOf(codeLengths));
/** By node: whether a text may end there. */
const mayEnd = endsOf(treeOf(codeLengths));

function stepsOf(nodes: readonly Node[]): Int32Array {
  const table = new Int32Array(nodes.length * 16);
  for (let node = 0; node < nodes.length; node++)
    for (let bits = 0; bits < 16; bits++) table[node * 16 + bits] = stepOf(nodes, node, bits);
  return table;
}

function stepOf(nodes: readonly Node[], from: number, bits: number): number {
  let at = from;
  let met = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = nodes[at]?.[(bits >>> bit) & 1] ?? 0;
    if (next === ~endSymbol) return isWrong;
    if (next < 0) met = hasSymbol | (~next << 20);
    at = Math.max(next, 0);
  }
  return met | at;
}

function endsOf(nodes: readonly Node[]): Uint8Array {
  const ends = new Uint8Array(nodes.length);
  let at = 0;
  for (let bits = 0; bits < 8; bits++) {
    ends[at] = 1;
    at = nodes[at]?.[1] ?? 0;
  }
  return ends;
}

/** Text of one character a byte; undefined: it is malformed. `into`: memory for eight fifths of the bytes. */
export function decodeHuffman(
  bytes: Buffer,
  from: number,
  to: number,
  into: Buffer,
): string | undefined {
  let node = 0;
  let length = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    const high = steps[(node << 4) | (byte >>> 4)] ?? isWrong;
    if (high & hasSymbol) into[length++] = high >>> 20;
    const low = steps[((high & 0xffff) << 4) | (byte & 15)] ?? isWrong;
    if (low & hasSymbol) into[length++] = low >>> 20;
    if ((high | low) & isWrong) return undefined;
    node = low & 0xffff;
  }
  return mayEnd[node] === 1 ? into.toString('latin1', 0, length) : undefined;
}

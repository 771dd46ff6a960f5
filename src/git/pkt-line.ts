/**
 * Owns the packets that git programs exchange (gitprotocol-common(5)): four hex digits of length, then
 * bytes. They come from strangers: a length that cannot be is refused, and nothing is kept but one packet.
 */

export type Packet =
  | { kind: 'data'; bytes: Buffer }
  /** The end of a message, the end of one of its sections, and the end of an answer. */
  | { kind: 'flush' | 'delimiter' | 'end' };

/** With its length. */
export const packetMaxBytes = 65_520;
export const flushPacket = '0000';
export const delimiterPacket = '0001';

/** What git programs do not send each other. */
export class MalformedPackets extends Error {
  override readonly name = 'MalformedPackets';
}

/** `bytes`: 65,516 at most. */
export function packet(bytes: Uint8Array | string): Buffer {
  const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  const length = content.length + 4;
  if (length > packetMaxBytes) throw new RangeError('Cannot send a packet: it is too long');
  return Buffer.concat([Buffer.from(length.toString(16).padStart(4, '0')), content]);
}

/** The packets of a stream, to its end. Throws MalformedPackets, also where it ends within one. */
export async function* packetsIn(source: AsyncIterable<Uint8Array>): AsyncGenerator<Packet, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    let bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    for (;;) {
      const length = lengthOf(bytes);
      const taken = Math.max(length ?? Infinity, 4);
      if (length === undefined || bytes.length < taken) break;
      yield length < 4 ? mark(length) : { kind: 'data', bytes: bytes.subarray(4, length) };
      bytes = bytes.subarray(taken);
    }
    rest = bytes;
  }
  if (rest.length > 0) throw new MalformedPackets('Cannot read packets: the last one is cut off');
}

/** Undefined: it is not all there. */
function lengthOf(bytes: Buffer): number | undefined {
  if (bytes.length < 4) return undefined;
  const digits = bytes.toString('latin1', 0, 4);
  const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : NaN;
  if (Number.isNaN(length) || length === 3 || length > packetMaxBytes) {
    throw new MalformedPackets('Cannot read packets: a length is none');
  }
  return length;
}

function mark(length: number): Packet {
  if (length === 0) return { kind: 'flush' };
  return { kind: length === 1 ? 'delimiter' : 'end' };
}

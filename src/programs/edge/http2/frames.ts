/** Owns how frames of HTTP/2 are written (RFC 9113, 4 and 6), as text of one character a byte. */

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlags = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** RFC 9113, 7. */
export const errors = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  compression: 9,
  enhanceYourCalm: 11,
} as const;
export type ErrorCode = (typeof errors)[keyof typeof errors];

export const frameHeadBytes = 9;
/** What every side takes (RFC 9113, 4.2); none here is larger, in either direction. */
export const frameBytesMax = 16_384;
export const windowMax = 2 ** 31 - 1;
/** Of the connection and of each stream, until it is told otherwise (RFC 9113, 6.9.2). */
export const firstWindow = 65_535;

export function frameHead(length: number, type: number, flags: number, stream: number): string {
  return String.fromCharCode(
    length >>> 16,
    (length >>> 8) & 0xff,
    length & 0xff,
    type,
    flags,
    stream >>> 24,
    (stream >>> 16) & 0xff,
    (stream >>> 8) & 0xff,
    stream & 0xff,
  );
}

/** A head: in one frame, or where it is larger in several. */
export function headersFrames(stream: number, block: string, endsStream: boolean): string {
  const { headers, continuation } = frameTypes;
  const flags = endsStream ? frameFlags.endStream : 0;
  if (block.length <= frameBytesMax)
    return frameHead(block.length, headers, flags | frameFlags.endHeaders, stream) + block;
  let text = frameHead(frameBytesMax, headers, flags, stream) + block.slice(0, frameBytesMax);
  for (let at = frameBytesMax; at < block.length; at += frameBytesMax) {
    const part = block.slice(at, at + frameBytesMax);
    const isLast = at + frameBytesMax >= block.length;
    text += frameHead(part.length, continuation, isLast ? frameFlags.endHeaders : 0, stream) + part;
  }
  return text;
}

export function resetFrame(stream: number, code: ErrorCode): string {
  return frameHead(4, frameTypes.reset, 0, stream) + number32(code);
}

export function windowFrame(stream: number, more: number): string {
  return frameHead(4, frameTypes.windowUpdate, 0, stream) + number32(more);
}

export function goawayFrame(lastStream: number, code: ErrorCode): string {
  return frameHead(8, frameTypes.goaway, 0, 0) + number32(lastStream) + number32(code);
}

/** `opaque`: eight characters. */
export function pingFrame(opaque: string, flags: number): string {
  return frameHead(8, frameTypes.ping, flags, 0) + opaque;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): string {
  let text = frameHead(settings.length * 6, frameTypes.settings, 0, 0);
  for (const [id, value] of settings) text += String.fromCharCode(0, id) + number32(value);
  return text;
}

export const settingsAck: string = frameHead(0, frameTypes.settings, frameFlags.ack, 0);

function number32(value: number): string {
  return String.fromCharCode(
    value >>> 24,
    (value >>> 16) & 0xff,
    (value >>> 8) & 0xff,
    value & 0xff,
  );
}

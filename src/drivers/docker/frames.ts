/**
 * Owns the framing of a container's two outputs on one stream: `u8 stream | 3 zero bytes | u32
 * length | bytes`, big-endian (Docker Engine API, "Attach to a container", stream format).
 *
 * Any split of the stream into chunks gives the same frames.
 */

export interface Frame {
  stream: 'stdout' | 'stderr';
  bytes: Buffer;
}

/** What both kinds of logs are read with: chunks in, frames out that begin with a time. */
export interface LogFrames {
  push(chunk: Buffer): Frame[];
}

const headerBytes = 8;
/** The daemon sends 16 KiB and a time at most; far more is no frame at all. */
const frameMax = 16 * 1024 * 1024;

export class FrameReader implements LogFrames {
  /** What came behind the last whole frame, in pieces: joined once it is a frame. */
  #pieces: Buffer[] = [];
  #held = 0;
  #wanted = headerBytes;

  /** The frames that are whole now, as views of `chunk` where they can be. Throws RangeError. */
  push(chunk: Buffer): Frame[] {
    this.#pieces.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#wanted) return [];
    const bytes = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces);
    const frames: Frame[] = [];
    let at = 0;
    this.#wanted = headerBytes;
    while (bytes.length - at >= headerBytes) {
      const length = bytes.readUInt32BE(at + 4);
      const kind = bytes[at];
      if (length > frameMax || kind === undefined || kind > 2) {
        throw new RangeError('Cannot read the output of a container: it has no frames');
      }
      if (bytes.length - at < headerBytes + length) {
        this.#wanted = headerBytes + length;
        break;
      }
      const start = at + headerBytes;
      at = start + length;
      frames.push({
        stream: kind === 2 ? 'stderr' : 'stdout',
        bytes: bytes.subarray(start, at),
      });
    }
    this.#pieces = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#held = bytes.length - at;
    return frames;
  }
}

const newline = 10;
const space = 32;
/** As the daemon cuts what has no line end. */
const pieceBytes = 16 * 1024;

/**
 * Reads the log of a container with a terminal, which is sent without frames: `time space line`,
 * where what does not end in a newline is exactly one full piece.
 */
export class RawLogReader implements LogFrames {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Frame[] {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const frames: Frame[] = [];
    for (;;) {
      const timeEnd = bytes.indexOf(space);
      if (timeEnd === -1) break;
      const full = timeEnd + 1 + pieceBytes;
      const lineEnd = bytes.subarray(0, full).indexOf(newline, timeEnd) + 1;
      const end = lineEnd > 0 ? lineEnd : full;
      if (bytes.length < end) break;
      frames.push({ stream: 'stdout', bytes: bytes.subarray(0, end) });
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
    return frames;
  }
}

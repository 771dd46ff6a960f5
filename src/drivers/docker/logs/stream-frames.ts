/**
 * Owns how the daemon sends a container's two outputs on one stream: `u8 stream | 3 zero bytes | u32
 * length | bytes`, big-endian (Docker Engine API, "Attach to a container", stream format).
 *
 * Any split of the stream into chunks gives the same frames.
 */

export interface Frame {
  stream: 'stdout' | 'stderr';
  bytes: Buffer;
}

/** The daemon could not read on. It says so in a frame of a kind of its own. */
export class LogBroken extends Error {
  override readonly name = 'LogBroken';
}

const headerBytes = 8;
/** Kinds of frames. 0 would be the input, which is never sent. */
const kinds = { stderr: 2, fault: 3 };
/** The daemon sends 16 KiB and a time at most. Far more is no frame. */
const frameMax = 16 * 1024 * 1024;

export class FrameReader {
  /** The bytes after the last whole frame, in pieces that are joined once they are a frame. */
  #pieces: Buffer[] = [];
  #held = 0;
  #wanted = headerBytes;

  /**
   * The frames that are whole now, as views of `chunk` where possible. Throws RangeError, LogBroken.
   */
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
      if (length > frameMax || kind === undefined || kind > kinds.fault) {
        throw new RangeError('Cannot read the output of a container: it has no frames');
      }
      if (bytes.length - at < headerBytes + length) {
        this.#wanted = headerBytes + length;
        break;
      }
      const start = at + headerBytes;
      at = start + length;
      const part = bytes.subarray(start, at);
      if (kind === kinds.fault) throw new LogBroken(part.toString().trim());
      frames.push({ stream: kind === kinds.stderr ? 'stderr' : 'stdout', bytes: part });
    }
    this.#pieces = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#held = bytes.length - at;
    return frames;
  }

  /** A frame that was cut short is dropped. */
  end(): Frame[] {
    return [];
  }
}

const newline = 10;
const space = 32;
/** The daemon cuts output without a line end into pieces of this size. */
const pieceBytes = 16 * 1024;

const someTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z /g;

/**
 * Reads the log of a container with a terminal, which is sent without frames: `time space line`. An
 * entry that does not end in a newline is exactly one full piece, or the last that a program wrote.
 * After such an entry the next one begins in the middle of a line. It is found by its time, which is
 * not before that of the entry; a time that a program prints there lies in the past.
 */
export class RawLogReader {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Frame[] {
    return this.#take(this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk, false);
  }

  end(): Frame[] {
    return this.#take(this.#rest, true);
  }

  #take(all: Buffer, isLast: boolean): Frame[] {
    const frames: Frame[] = [];
    let bytes = all;
    for (;;) {
      const end = endOfEntry(bytes, isLast);
      if (end === null) break;
      frames.push({ stream: 'stdout', bytes: bytes.subarray(0, end) });
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
    return frames;
  }
}

/** Where the entry ends; null while it is not whole. */
function endOfEntry(bytes: Buffer, isLast: boolean): number | null {
  const timeEnd = bytes.indexOf(space);
  if (timeEnd === -1) return null;
  const full = timeEnd + 1 + pieceBytes;
  const lineEnd = bytes.subarray(0, full).indexOf(newline, timeEnd) + 1;
  // The end of the next entry's time, if this entry is a full piece.
  const next = full + timeEnd + 1;
  const isFull = bytes.length >= (isLast ? full : next);
  const end = lineEnd > 0 ? lineEnd : isFull ? full : isLast ? bytes.length : null;
  return nextEntry(bytes.subarray(0, lineEnd > 0 ? lineEnd : next), timeEnd + 1) ?? end;
}

/** Where the next entry begins although no line has ended; null when none does. */
function nextEntry(bytes: Buffer, start: number): number | null {
  const text = bytes.toString('latin1');
  const time = text.slice(0, start);
  for (const { 0: other, index } of text.slice(start).matchAll(someTime)) {
    if (other >= time) return start + index;
  }
  return null;
}

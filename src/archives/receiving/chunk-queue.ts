/**
 * Owns the pieces of one transfer from their arrival until nobody needs them any more.
 *
 * 1. A piece in memory has two users, the disk and the reader. It is free when both have released it.
 * 2. A piece that is in the file already is read from there when its turn comes.
 * 3. The reader gets every byte once and in order, and so does `hash`. This thread hashes a piece while the
 *    library decompresses it on another.
 * 4. Pieces that come after `stop` are freed and not read.
 */
import type { Hash } from 'node:crypto';
import type { ByteSource } from '../formats/byte-reader.ts';

export type Piece =
  { kind: 'memory'; bytes: Uint8Array; free: () => void } | { kind: 'file'; bytes: number };

export interface ChunkQueueOptions {
  hash: Hash;
  /** Reads bytes of the file at an offset into a buffer; returns how many. */
  read(at: number, into: Uint8Array): Promise<number>;
  /** These bytes of pieces in the file are finished. */
  onRead(bytes: number): void;
}

interface Held {
  bytes: Uint8Array;
  users: number;
  free: () => void;
}

type Waiting = { kind: 'memory'; held: Held } | { kind: 'file'; at: number; bytes: number };

const readBytes = 256 * 1024;

export class ChunkQueue implements ByteSource {
  readonly #options: ChunkQueueOptions;
  readonly #waiting: Waiting[] = [];
  #arrivedBytes = 0;
  #reading: { held: Held; hashed: boolean } | null = null;
  #buffer: Uint8Array | null = null;
  #state: 'open' | 'ended' | 'stopped' = 'open';
  #wake: (() => void) | null = null;

  constructor(options: ChunkQueueOptions) {
    this.#options = options;
  }

  /** Takes a piece. Call the returned function when the disk no longer needs it. */
  push(piece: Piece): () => void {
    const at = this.#arrivedBytes;
    if (piece.kind === 'file') {
      this.#arrivedBytes += piece.bytes;
      if (this.#state === 'open') this.#waiting.push({ ...piece, at });
      else this.#options.onRead(piece.bytes);
      this.#wake?.();
      return () => undefined;
    }
    this.#arrivedBytes += piece.bytes.length;
    const held: Held = { bytes: piece.bytes, users: 2, free: piece.free };
    if (this.#state === 'open') {
      this.#waiting.push({ kind: 'memory', held });
      this.#wake?.();
    } else held.users--;
    return () => release(held);
  }

  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#wake?.();
  }

  /** The reader will read no more. */
  stop(): void {
    this.#state = 'stopped';
    this.#reading = this.#letGo();
    for (const waiting of this.#waiting.splice(0)) {
      if (waiting.kind === 'memory') release(waiting.held);
      else this.#options.onRead(waiting.bytes);
    }
    this.#wake?.();
  }

  async next(): Promise<Uint8Array | null> {
    this.#reading = this.#letGo();
    for (;;) {
      if (this.#state === 'stopped') return null;
      const waiting = this.#waiting[0];
      if (waiting?.kind === 'file') return this.#readFile(waiting);
      if (waiting !== undefined) {
        this.#waiting.shift();
        return this.#hand(waiting.held);
      }
      if (this.#state === 'ended') return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  async #readFile(waiting: { at: number; bytes: number }): Promise<Uint8Array | null> {
    this.#buffer ??= new Uint8Array(readBytes);
    const into = this.#buffer.subarray(0, Math.min(waiting.bytes, readBytes));
    const length = await this.#options.read(waiting.at, into);
    if (length === 0) throw new Error('the file is shorter than what was written');
    if (this.#state === 'stopped') return null;
    waiting.at += length;
    waiting.bytes -= length;
    if (waiting.bytes === 0) this.#waiting.shift();
    const free = (): void => this.#options.onRead(length);
    return this.#hand({ bytes: into.subarray(0, length), users: 1, free });
  }

  #hand(held: Held): Uint8Array {
    const reading = { held, hashed: false };
    this.#reading = reading;
    // This runs later in the turn: first the reader gives the piece to the library, which has its own
    // threads.
    setImmediate(() => this.#hashOnce(reading));
    return held.bytes;
  }

  #hashOnce(reading: { held: Held; hashed: boolean }): void {
    if (reading.hashed) return;
    reading.hashed = true;
    this.#options.hash.update(reading.held.bytes);
  }

  #letGo(): null {
    if (this.#reading !== null) {
      this.#hashOnce(this.#reading);
      release(this.#reading.held);
    }
    return null;
  }
}

function release(held: Held): void {
  if (--held.users === 0) held.free();
}

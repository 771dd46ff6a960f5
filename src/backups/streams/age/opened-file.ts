/**
 * Owns reading what is in an age file from any position on, as far as a chunk goes. Nothing is kept between two
 * readings: who reads half of a chunk opens it twice.
 */
import { free } from '../chunks.ts';
import { corrupt } from '../refusals.ts';
import { headerEnd, headerMaxBytes, openHeader } from './header.ts';
import { identityOf } from './keys.ts';
import { chunkBytes, Payload, payloadNonceBytes, sealedBytes, tagBytes } from './payload.ts';

export interface SealedFile {
  bytes: number;
  /** Fills all of `into`. */
  read: (into: Uint8Array, at: number) => Promise<void>;
}

export class OpenedFile {
  /** Of what is in it. */
  readonly bytes: number;
  readonly #file: SealedFile;
  readonly #payload: Payload;
  /** Where the payload begins. */
  readonly #start: number;

  private constructor(file: SealedFile, payload: Payload, start: number) {
    const sealed = file.bytes - start;
    const chunks = Math.max(1, Math.ceil(sealed / sealedBytes));
    const last = sealed - (chunks - 1) * sealedBytes;
    // Only a payload of nothing has a chunk of nothing.
    if (last < tagBytes || (last === tagBytes && chunks > 1)) {
      throw corrupt('its encrypted data is cut off');
    }
    this.#file = file;
    this.#payload = payload;
    this.#start = start;
    this.bytes = sealed - chunks * tagBytes;
  }

  /**
   * `memory` has room for a sealed chunk. Rejects with RECOVERY_KEY_WRONG, with ARTIFACT_CORRUPT, and with the
   * errors of the file.
   */
  static async open(file: SealedFile, recoveryKey: string, memory: Buffer): Promise<OpenedFile> {
    const identity = identityOf(recoveryKey);
    const head = memory.subarray(0, Math.min(file.bytes, headerMaxBytes + payloadNonceBytes));
    await file.read(head, 0);
    const end = headerEnd(head.subarray(0, headerMaxBytes));
    if (end === null && head.length >= headerMaxBytes) throw corrupt('its header has no end');
    if (end === null || head.length < end + payloadNonceBytes) {
      throw corrupt('its header is cut off');
    }
    const start = end + payloadNonceBytes;
    const fileKey = openHeader(head.subarray(0, end), identity);
    return new OpenedFile(file, new Payload(fileKey, head.subarray(end, start)), start);
  }

  /**
   * What is at this position, up to the end of its chunk, and proven. It is in `memory`, which has room for a
   * sealed chunk. Rejects with ARTIFACT_CORRUPT, and with the errors of the file.
   */
  async read(at: number, most: number, memory: Buffer): Promise<Uint8Array> {
    const index = Math.floor(at / chunkBytes);
    const from = this.#start + index * sealedBytes;
    const bytes = memory.subarray(0, Math.min(sealedBytes, this.#file.bytes - from));
    await this.#file.read(bytes, from);
    const isLast = from + bytes.length === this.#file.bytes;
    const opened = this.#payload.open({ index, bytes, isLast });
    const within = at % chunkBytes;
    const length = opened.copy(memory, 0, within, Math.min(within + most, opened.length));
    free(opened);
    return memory.subarray(0, length);
  }
}

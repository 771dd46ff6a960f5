/**
 * Owns the making of a gzip file (RFC 1952) of one member out of blocks that threads compress side by side.
 *
 * 1. At most `blocksAhead` blocks are under way, and one is filled; more is read as chunks are taken.
 * 2. A byte is copied once into its block, and once out of it when it is compressed.
 */
import { crc32 } from 'node:zlib';
import { takenFrom } from './chunks.ts';
import { type Block, blockBytes, blockMemory, primerMax } from './gzip-block.ts';
import type { GzipPool } from './gzip-pool.ts';

// Deflate, no name and no time, made on Unix.
const header = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3);
/** An empty block of deflate that is marked as the last one. */
const lastBlock = Uint8Array.of(3, 0);

/** Rejects with the errors of `source` and of `GzipPool.deflate`. */
export async function* gzipped(
  source: AsyncIterable<Uint8Array>,
  pool: GzipPool,
): AsyncGenerator<Uint8Array> {
  const blocks = new Blocks(pool);
  let crc = 0;
  let bytes = 0;
  yield header.slice();
  for await (const chunk of takenFrom(source)) {
    crc = crc32(chunk, crc);
    bytes += chunk.length;
    for (let at = 0; at < chunk.length;) {
      at += blocks.add(chunk.subarray(at));
      if (blocks.underWay >= pool.blocksAhead) yield await blocks.oldest();
    }
  }
  blocks.send();
  while (blocks.underWay > 0) yield await blocks.oldest();
  yield Buffer.concat([lastBlock, trailer(crc, bytes)]);
}

function trailer(crc: number, bytes: number): Buffer {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(bytes % 2 ** 32, 4);
  return trailer;
}

/** The blocks of one stream. Their memory goes round between this thread and the pool's. */
class Blocks {
  readonly #pool: GzipPool;
  readonly #underWay: Promise<Uint8Array<ArrayBuffer>>[] = [];
  readonly #free: ArrayBuffer[] = [];
  #filling: Block = { memory: blockMemory(), primerBytes: 0, bytes: 0 };

  constructor(pool: GzipPool) {
    this.#pool = pool;
  }

  get underWay(): number {
    return this.#underWay.length;
  }

  /** Copies what fits into the block; a full one is sent. Returns how many bytes it took. */
  add(bytes: Uint8Array): number {
    const block = this.#filling;
    const taken = bytes.subarray(0, blockBytes - block.bytes);
    new Uint8Array(block.memory, primerMax + block.bytes).set(taken);
    block.bytes += taken.length;
    if (block.bytes === blockBytes) this.send();
    return taken.length;
  }

  /** Sends the block that is filled, unless it is empty. */
  send(): void {
    const block = this.#filling;
    if (block.bytes === 0) return;
    this.#filling = this.#after(block);
    const packed = this.#pool.deflate(block);
    // Whoever takes it hears of its failure; nobody does once an earlier one failed.
    packed.catch(() => undefined);
    this.#underWay.push(packed);
  }

  async oldest(): Promise<Uint8Array> {
    const packed = await this.#underWay.shift();
    if (packed === undefined) throw new Error('Cannot take a block: none is under way');
    const bytes = packed.slice();
    this.#free.push(packed.buffer);
    return bytes;
  }

  /** An empty block, primed with the end of a full one. */
  #after({ memory, bytes }: Block): Block {
    const next = this.#free.pop() ?? blockMemory();
    const end = primerMax + bytes;
    const primerBytes = Math.min(bytes, primerMax);
    new Uint8Array(next).set(
      new Uint8Array(memory, end - primerBytes, primerBytes),
      primerMax - primerBytes,
    );
    return { memory: next, primerBytes, bytes: 0 };
  }
}

/** Owns opening age files in both ways of the program, which have to agree. */
import assert from 'node:assert/strict';
import { decrypted } from '../../src/backups/streams/age/decrypted.ts';
import { OpenedFile } from '../../src/backups/streams/age/opened-file.ts';
import { sealedBytes } from '../../src/backups/streams/age/payload.ts';
import { inPieces, joined } from './byte-streams.ts';

/** As a stream, and as a file in pieces of up to `cut` bytes. Rejects as they both do. */
export async function openedBothWays(
  sealed: Uint8Array,
  recoveryKey: string,
  cut: number,
): Promise<Buffer> {
  const [streamed, placed] = await Promise.allSettled([
    joined(decrypted(inPieces(sealed, cut), recoveryKey)),
    byPieces(sealed, recoveryKey, cut),
  ]);
  if (streamed.status === 'rejected') {
    assert.ok(placed.status === 'rejected', 'only the stream is refused');
    const codes = [streamed, placed].map(({ reason }) => (reason as { code?: unknown }).code);
    assert.equal(codes[0], codes[1]);
    throw streamed.reason;
  }
  if (placed.status === 'rejected') throw placed.reason;
  assert.ok(placed.value.equals(streamed.value), 'the ways give different bytes');
  return streamed.value;
}

async function byPieces(sealed: Uint8Array, recoveryKey: string, most: number): Promise<Buffer> {
  const read = (into: Uint8Array, at: number): Promise<void> => {
    into.set(sealed.subarray(at, at + into.length));
    return Promise.resolve();
  };
  const memory = Buffer.alloc(sealedBytes);
  const file = await OpenedFile.open({ bytes: sealed.length, read }, recoveryKey, memory);
  const pieces: Buffer[] = [];
  let at = 0;
  do {
    const piece = Buffer.from(await file.read(at, most, memory));
    pieces.push(piece);
    at += piece.length;
  } while (at < file.bytes);
  return Buffer.concat(pieces);
}

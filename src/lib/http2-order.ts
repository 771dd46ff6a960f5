/**
 * Owns that no bytes of an HTTP/2 connection are taken twice. When a write fails while Node 22 takes what it has read, it
 * takes a part of that again, as if it came next: heads of frames appear in the data of streams. All data are views of
 * the buffer that was read, so what was taken before shows by its place. Small pieces are put together as they wait.
 */
import type http2 from 'node:http2';

import { lumpedPush } from './small-pieces.ts';

/**
 * For the streams of one session, each before its first byte. `onTorn` is to end the session; nothing that it has read
 * since is handed out.
 */
export function orderGuard(onTorn: () => void): (stream: http2.Http2Stream) => void {
  let taken: ArrayBufferLike | undefined;
  let end = 0;
  let isTorn = false;
  const isNext = ({ buffer, byteOffset, byteLength }: Uint8Array): boolean => {
    if (buffer === taken && byteOffset < end) return false;
    taken = buffer;
    end = byteOffset + byteLength;
    return true;
  };
  return (stream) => {
    const push = lumpedPush(stream);
    // What Node hands bytes to; events come later where the stream is paused.
    stream.push = (chunk: Uint8Array | null) => {
      if (!isTorn && (chunk === null || isNext(chunk))) return push(chunk);
      if (!isTorn) {
        isTorn = true;
        onTorn();
      }
      return false;
    };
  };
}

/**
 * Owns the memory that connections are read into. There is no new one for each read: that would be mapped, filled and given
 * back all the time, and never be in the caches of the processor.
 *
 * 1. All connections share a small one. What is read into it is copied before anything else is read.
 * 2. A connection that brings much has a large one of its own meanwhile.
 */
import { Socket } from 'node:net';
import { copiedMax } from './outlet.ts';

const largeBytes = 64 * 1024;
const sparesMax = 16;

const sharedBuffer: Buffer = Buffer.allocUnsafeSlow(copiedMax);

const spares: Buffer[] = [];

function takeLarge(): Buffer {
  return spares.pop() ?? Buffer.allocUnsafeSlow(largeBytes);
}

/** What one connection reads into. */
export class ReadMemory {
  #buffer = sharedBuffer;

  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Behind each read. `goesOn`: more of the same is to come; `isHeld`: somebody has yet to read what came. */
  hasRead(length: number, goesOn: boolean, isHeld: boolean): void {
    const read = this.#buffer;
    if (read === sharedBuffer) {
      if (goesOn && length === read.length) this.#buffer = takeLarge();
      return;
    }
    if (goesOn && !isHeld) return;
    this.#buffer = goesOn ? takeLarge() : sharedBuffer;
    if (!isHeld && spares.length < sparesMax) spares.push(read);
  }
}

/** A connection that a server has accepted. */
export interface Accepted {
  readonly socket: Socket;
  readonly memory: ReadMemory;
  /** To be set before it is read. What it is given is its own until it returns, as far as nobody holds it. */
  take: (bytes: Buffer) => void;
}

/**
 * The same connection, paused as it was, reading into such memory: a server makes sockets that cannot. The other one is
 * destroyed.
 */
export function readingIntoMemory(accepted: Socket): Accepted {
  const memory = new ReadMemory();
  // Node has no other way to the connection below a socket; its own servers make sockets of TLS by it.
  const below = accepted as unknown as { _handle: unknown };
  const own: Accepted = {
    memory,
    take: () => undefined,
    socket: new Socket({
      ...{ handle: below._handle, pauseOnCreate: true, allowHalfOpen: true },
      onread: {
        buffer: () => memory.buffer,
        callback: (length, buffer) => {
          own.take((buffer as Buffer).subarray(0, length));
          return true;
        },
      },
    }),
  };
  below._handle = null;
  accepted.destroy();
  return own;
}

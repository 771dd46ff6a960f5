/** Owns opening a connection within a time, and leading one on to another. */
import net from 'node:net';

/** Resolves when the other side has accepted; rejects with what the system says, or ETIMEDOUT. */
export function connectWithin(address: net.NetConnectOpts, withinMs: number): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(address);
    const late = (): void => {
      if (!socket.connecting) return;
      socket.destroy(Object.assign(new Error('Cannot connect: no answer'), { code: 'ETIMEDOUT' }));
    };
    // Behind a stall of the process timers run ahead of what has come long since.
    socket.setTimeout(withinMs, () => setImmediate(late));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** Whether the other side accepts within that time. */
export async function accepts(address: net.NetConnectOpts, withinMs: number): Promise<boolean> {
  try {
    (await connectWithin(address, withinMs)).destroy();
    return true;
  } catch {
    return false; // Refused or not answered is the same here.
  }
}

/** Both allow half-open ones: the end of each side ends the other; an error on one breaks both. */
export function joinSockets(one: net.Socket, other: net.Socket): void {
  one.pipe(other);
  other.pipe(one);
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy());
    from.once('close', () => {
      if (!from.readableEnded) to.destroy();
    });
  }
  if (one.destroyed) other.destroy();
}

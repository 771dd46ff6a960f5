/**
 * Owns the check that a port is free before several threads listen on it. The library's way to share a port
 * would share it with other processes of the same user too.
 */
import { createServer } from 'node:net';

/** The address is not available. The message is for the person who starts the program. */
export class ListenError extends Error {
  override name = 'ListenError';

  constructor(host: string, port: number, options?: ErrorOptions) {
    super(
      `Cannot listen on ${host}:${String(port)}: it is taken, or not an address of ours`,
      options,
    );
  }
}

/**
 * Listens on the port exclusively for a moment and releases it. Resolves with its number, which the system
 * picks for 0. Rejects with a ListenError when another process has the port.
 */
export function checkPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (cause) => reject(new ListenError(host, port, { cause })));
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() =>
        resolve(typeof address === 'object' && address !== null ? address.port : port),
      );
    });
  });
}

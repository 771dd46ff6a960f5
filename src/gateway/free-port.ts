/**
 * Owns the check that a port is free before several threads listen on it. The library's way to share a
 * port would also share it with any other process of the same user.
 */
import { createServer } from 'node:net';

/** The address is not available. The message is for whoever starts the program. */
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
 * Listens on the port alone for a moment and releases it. Resolves with its number, which the system
 * picks for 0. Rejects with a ListenError when somebody else has it.
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

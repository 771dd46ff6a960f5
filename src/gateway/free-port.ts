/**
 * Owns finding out whether a port may be listened on by several threads: the library's own way to share
 * one would share it with any other process of the same user, too.
 */
import { createServer } from 'node:net';
import { ListenError } from './listen-error.ts';

/**
 * Takes the port alone for a moment and lets go of it; resolves with its number, which the system picks
 * for 0. Rejects with a ListenError when somebody else has it.
 */
export function checkPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (cause) => {
      reject(new ListenError(host, port, { cause }));
    });
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  });
}

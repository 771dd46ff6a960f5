/** Owns the choice of ports for tests. */
import { createServer } from 'node:net';

/**
 * A port that nobody listens on, below those that a swarm gives to services, from 30,000 on, and that the system
 * lends to outgoing connections: one of those could be taken by a visitor's connection while a service is down
 * between two starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once('error', () => {
        resolve(false);
      });
      server.listen(port, '127.0.0.1', () => {
        server.close(() => {
          resolve(true);
        });
      });
    });
    if (free) return port;
  }
}

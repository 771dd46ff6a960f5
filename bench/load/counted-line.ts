/** Owns a line between two TCP ends that counts what flows, and changes nothing of it. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface CountedLine {
  /** From the target's side and to it, of all connections. */
  bytes(): number;
  close(): void;
}

/** Listens on `host`, and leads to the same port of 127.0.0.1. */
export async function countedLine(host: string, port: number): Promise<CountedLine> {
  const sockets = new Set<Socket>();
  let bytes = 0;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (chunk: Buffer) => (bytes += chunk.length));
      // Who has gone takes the other along.
      from
        .on('error', () => undefined)
        .once('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      from.pipe(to);
    }
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    bytes: () => bytes,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * Stands between a client that knows no token and a server that wants one: adds `Authorization` to
 * each request of each connection, and changes no other byte of it.
 *
 * 1. Requests are told apart by `Content-Length`; one with `Transfer-Encoding` ends its connection.
 */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface TokenProxy {
  /** By the name `localhost`, as the suite wants it. */
  mcpUrl: string;
  close(): Promise<void>;
}

export async function startTokenProxy(target: string, token: string): Promise<TokenProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname);
    const requests = new RequestHeads(`Authorization: Bearer ${token}`);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    upstream.pipe(client);
    client.on('data', (bytes: Buffer) => {
      const passed = requests.pass(bytes);
      if (passed === null) client.destroy();
      else upstream.write(passed);
    });
    client.on('end', () => upstream.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    mcpUrl: `http://localhost:${String(port)}/api/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const endOfHead = '\r\n\r\n';

/** Finds the heads in a stream of requests, and puts one more line into each. */
class RequestHeads {
  readonly #line: string;
  #head = Buffer.alloc(0);
  #bodyLeft = 0;

  constructor(line: string) {
    this.#line = line;
  }

  /** What goes on of these bytes; null for a request whose end cannot be told. */
  pass(bytes: Buffer): Buffer | null {
    const parts: Buffer[] = [];
    let rest = bytes;
    while (rest.length > 0) {
      const body = rest.subarray(0, this.#bodyLeft);
      this.#bodyLeft -= body.length;
      parts.push(body);
      rest = rest.subarray(body.length);
      if (rest.length === 0) break;
      this.#head = Buffer.concat([this.#head, rest]);
      const end = this.#head.indexOf(endOfHead);
      if (end === -1) break;
      const head = this.#head.subarray(0, end).toString('latin1');
      rest = this.#head.subarray(end + endOfHead.length);
      this.#head = Buffer.alloc(0);
      if (/^transfer-encoding:/im.test(head)) return null;
      this.#bodyLeft = Number(/^content-length:\s*(\d+)/im.exec(head)?.[1] ?? 0);
      parts.push(Buffer.from(`${head}\r\n${this.#line}${endOfHead}`, 'latin1'));
    }
    return Buffer.concat(parts);
  }
}

/** Owns a Unix socket in front of another, which counts what is asked over it. */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

export interface SocketProxy {
  socket: string;
  /** First lines of all requests so far, such as `GET /containers/x/logs?follow=true HTTP/1.1`. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export async function socketProxy(target: string): Promise<SocketProxy> {
  const socket = path.join(path.dirname(target), `proxy-${String(process.pid)}.sock`);
  const requests: string[] = [];
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(target);
    for (const one of [client, upstream]) {
      open.add(one);
      one.on('error', () => one.destroy());
      one.once('close', () => {
        open.delete(one);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => {
      const [line = ''] = chunk.toString('latin1', 0, 512).split('\r\n');
      if (/^(GET|POST|DELETE|HEAD) \S+ HTTP/.test(line)) requests.push(line);
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    socket,
    requests,
    async close() {
      for (const one of open) one.destroy();
      await new Promise((resolve) => server.close(resolve));
      fs.rmSync(socket, { force: true });
    },
  };
}

/**
 * Owns a Docker daemon that hangs: what it is told to answer it answers, all else it takes and leaves
 * without a word, as one that was stopped in the middle does.
 */
import fs from 'node:fs';
import http from 'node:http';
import type { Socket } from 'node:net';
import path from 'node:path';
import type { Duplex } from 'node:stream';

import { tempDir } from './runner.ts';

type Answer = object | 'stream';

export interface HangingDaemon {
  socket: string;
  /** First words of all requests so far, such as `GET /containers/json`. */
  readonly requests: readonly string[];
  /** What was sent with each `POST /build` so far: a tar, as text. */
  readonly builds: readonly string[];
  /** Connections that are open. */
  readonly open: number;
  /** What is asked so is answered with this, or with a stream on which nothing comes. */
  answer(request: RegExp, body: Answer): void;
  /** From now on nothing is answered. */
  hang(): void;
  close(): Promise<void>;
}

export async function hangingDaemon(): Promise<HangingDaemon> {
  const dir = tempDir();
  const socket = path.join(dir, 'docker.sock');
  const requests: string[] = [];
  const builds: string[] = [];
  const open = new Set<Duplex>();
  let answers: [RegExp, Answer][] = [];
  const found = (request: http.IncomingMessage): Answer | undefined => {
    const line = `${request.method ?? ''} ${request.url ?? ''}`;
    requests.push(line);
    return answers.find(([pattern]) => pattern.test(line))?.[1];
  };
  const server = http.createServer((request, response) => {
    if (request.url?.includes('/build?') === true) keepBody(request, builds);
    else request.resume();
    const body = found(request);
    if (body === 'stream') response.flushHeaders();
    if (typeof body !== 'object') return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  });
  server.on('upgrade', (request: http.IncomingMessage, taken: Duplex) => {
    if (found(request) === undefined) return;
    taken.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
  });
  server.on('connection', (connection: Socket) => {
    open.add(connection);
    connection.on('error', () => connection.destroy());
    connection.once('close', () => open.delete(connection));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    socket,
    requests,
    builds,
    get open() {
      return open.size;
    },
    answer: (request, body) => answers.unshift([request, body]),
    hang: () => (answers = []),
    async close() {
      for (const one of open) one.destroy();
      await new Promise((resolve) => server.close(resolve));
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

function keepBody(request: http.IncomingMessage, bodies: string[]): void {
  const at = bodies.push('') - 1;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bodies[at] = Buffer.concat(chunks).toString('latin1');
  });
}

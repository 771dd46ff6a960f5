import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { LogServerReply, LogServerRequest } from '../support/log-server.ts';

let server: ChildProcess;
let port = 0;
const sockets: Socket[] = [];

async function ask<K extends string>(request: LogServerRequest, key: K): Promise<number> {
  const reply = once(server, 'message');
  server.send(request);
  const [message] = (await reply) as [LogServerReply];
  return (message as Record<string, number>)[key] ?? NaN;
}

async function streams(count: number): Promise<void> {
  for (;;) {
    if ((await ask({ ask: 'memory' }, 'streams')) === count) return;
  }
}

function open(query: string, reads: boolean): void {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  if (reads) socket.resume();
  else socket.pause();
  socket.write(`GET /api/apps/app_one/logs${query} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
}

before(async () => {
  server = fork(new URL('../support/log-server.ts', import.meta.url), {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
  });
  const [first] = (await once(server, 'message')) as [{ port: number }];
  port = first.port;
});
after(async () => {
  for (const socket of sockets) socket.destroy();
  const ended = once(server, 'exit');
  server.disconnect();
  await ended;
});

describe('the memory of log streams', () => {
  it('grows by no queue for each of 200 that stall, and by little for those that idle', async () => {
    // One reader and two floods first, so that the process has grown to its working size.
    open('', true);
    await streams(1);
    for (let i = 0; i < 2; i++) await ask({ ask: 'flood', lines: 15_000 }, 'flooded');
    const warmBytes = await ask({ ask: 'memory' }, 'rssBytes');

    for (let i = 0; i < 1_000; i++) open('?tail=0', true);
    await streams(1_001);
    const idleBytes = await ask({ ask: 'memory' }, 'rssBytes');
    for (const socket of sockets.splice(1)) socket.destroy();
    await streams(1);

    for (let i = 0; i < 200; i++) open('', false);
    await streams(201);
    await ask({ ask: 'flood', lines: 15_000 }, 'flooded');
    const stalledBytes = await ask({ ask: 'memory' }, 'rssBytes');
    const report = { warmBytes, idle: idleBytes - warmBytes, stalled: stalledBytes - warmBytes };
    // Queues would take gigabytes; what the collector has not got to yet is nothing beside that.
    assert.ok(stalledBytes - warmBytes < 64e6, JSON.stringify(report));
    assert.ok((idleBytes - warmBytes) / 1_000 < 20_000, JSON.stringify(report));
  });
});

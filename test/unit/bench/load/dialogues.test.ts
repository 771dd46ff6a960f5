import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { it, type TestContext } from 'node:test';
import { type Dialogue, WebSocketDialogue } from '../../../../bench/load/dialogues.ts';
import { Http2Dialogue } from '../../../../bench/load/http2-dialogue.ts';

/** Asks a server of HTTP/2 so many questions at once. Resolves when all are answered. */
async function answered(
  t: TestContext,
  answer: (stream: ServerHttp2Stream) => void,
  asked: readonly number[],
): Promise<number[]> {
  const server = createServer().on('stream', (stream) => {
    stream.on('error', () => undefined);
    answer(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  t.after(() => {
    socket.destroy();
    server.close();
  });
  const dialogue = new Http2Dialogue(
    `127.0.0.1:${String(port)}`,
    '/',
    Buffer.from('right'),
    'http',
  );
  socket.write(Buffer.concat([dialogue.opening, ...asked.map((ms) => dialogue.ask(ms))]));
  const heard: number[] = [];
  for await (const chunk of socket) {
    const { askedMs, reply } = dialogue.read(chunk as Buffer);
    heard.push(...askedMs);
    socket.write(reply);
    if (heard.length >= asked.length) break;
  }
  return heard;
}

it('Load over HTTP/2 hears each answer of many at once, in whatever order they come', async (t) => {
  const waiting: ServerHttp2Stream[] = [];
  const answer = (stream: ServerHttp2Stream): void => {
    if (waiting.push(stream) < 3) return;
    stream.once('close', () => waiting.forEach((one) => one.destroyed || one.end('right')));
    stream.end('right');
  };
  assert.deepEqual(await answered(t, answer, [1, 2, 3]), [3, 1, 2]);
});

it('Load over HTTP/2 takes no other status, no other bytes and no part for an answer', async (t) => {
  const wrong: Record<string, (stream: ServerHttp2Stream) => void> = {
    'the status is not 200': (stream) => {
      stream.respond({ ':status': 503 });
      stream.end('right');
    },
    'other bytes came': (stream) => stream.end('wrong'),
    'the answer is not whole': (stream) => stream.end('righ'),
    'a frame of type 3': (stream) => stream.close(2),
  };
  for (const [why, answer] of Object.entries(wrong))
    await assert.rejects(answered(t, answer, [1]), new RegExp(why));
});

it('Load over WebSockets begins once it is let in, and hears its message come back', () => {
  const dialogue: Dialogue = new WebSocketDialogue('127.0.0.1', '/echo', Buffer.from('hello'));
  assert.match(dialogue.opening.toString(), /^GET \/echo HTTP\/1\.1\r\n.*upgrade: websocket/is);
  dialogue.read(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n'));
  assert.equal(dialogue.isOpen, false);
  dialogue.read(Buffer.from('Upgrade: websocket\r\n\r\n'));
  assert.equal(dialogue.isOpen, true);
  const frame = dialogue.ask(7);
  assert.deepEqual(frame, Buffer.from([0x81, 0x85, 0, 0, 0, 0, ...Buffer.from('hello')]));
  assert.deepEqual(dialogue.read(Buffer.from([0x81, 5])).askedMs, []);
  assert.deepEqual(dialogue.read(Buffer.from('hello')).askedMs, [7]);
  assert.throws(() => dialogue.read(Buffer.from([0x81, 5, ...Buffer.from('hullo')])), /wrong/);
});

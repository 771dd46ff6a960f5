import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { Exchange, ResponseStream, Route } from '../../src/gateway/transport.ts';
import { healthRoute } from '../../src/gateway/transports/health.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { RawClient } from '../support/raw-http.ts';

/** Calls back on every change, so that a test can wait for a condition. */
class Bell {
  #wakes: (() => void)[] = [];

  ring(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#wakes.push(resolve);
      });
    }
  }
}

const large = Buffer.alloc(40 * 1024 * 1024, 'abcdefghij');
const block = Buffer.alloc(64 * 1024, 'x');
const limits = { sendStallMs: 60_000, streamStallMs: 600_000, answerMs: 60_000 };

/** Writes until the socket is full; how many bytes. */
function fill(stream: ResponseStream): number {
  let bytes = block.length;
  while (stream.write(block)) bytes += block.length;
  return bytes;
}

describe('the gateway and its answers', () => {
  let server: TestGateway;
  // Time passes for the gateway when a test says so: no pause of this machine is one of a client.
  const clock = new ManualClock();
  const bell = new Bell();
  let unanswered = 0;
  const opened: { exchange: Exchange; stream: ResponseStream; left: boolean }[] = [];

  const routes: Route[] = [
    healthRoute,
    {
      method: 'GET',
      path: '/large',
      async handle(exchange) {
        await Promise.resolve();
        exchange.onAbort(() => {
          bell.ring();
        });
        exchange.send(200, { 'Content-Type': 'text/plain' }, large);
      },
    },
    {
      method: 'GET',
      path: '/stream',
      handle(exchange) {
        const stream = exchange.stream(200, { 'Content-Type': 'text/event-stream' });
        const one = { exchange, stream, left: false };
        exchange.onAbort(() => {
          one.left = true;
          bell.ring();
        });
        opened.push(one);
        stream.write('first\n');
        bell.ring();
      },
    },
    {
      method: 'GET',
      path: '/never',
      handle() {
        unanswered += 1;
        bell.ring();
      },
    },
    {
      method: 'GET',
      path: '/half',
      async handle(exchange) {
        exchange.stream(200, {}).write('half');
        await Promise.resolve();
        throw new Error('broken amid the answer');
      },
    },
    {
      method: 'GET',
      path: '/twice',
      handle(exchange) {
        exchange.json(200, { once: true });
        exchange.json(200, { twice: true });
      },
    },
  ];

  before(async () => {
    server = await startGateway(routes, { clock, limits });
  });
  after(() => server.close());

  async function open(): Promise<{ client: RawClient; one: (typeof opened)[number] }> {
    const index = opened.length;
    const client = new RawClient(server.port);
    client.write('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n');
    await bell.until(() => opened.length > index);
    const one = opened[index];
    assert.ok(one);
    await client.until(() => client.received.includes('first\n'));
    return { client, one };
  }

  it('sends a large body whole to a client that reads in its own time', async () => {
    const bytes = await new Promise<number>((resolve, reject) => {
      const going = request(`${server.url}/large`, (answer) => {
        assert.equal(answer.headers['content-length'], String(large.length));
        let at = 0;
        let equal = true;
        answer.on('data', (chunk: Buffer) => {
          equal &&= chunk.equals(large.subarray(at, at + chunk.length));
          at += chunk.length;
          // Stands still for a moment now and then.
          if (at % 7 === 0) {
            answer.pause();
            setTimeout(() => answer.resume(), 20);
          }
        });
        answer.on('end', () => {
          assert.ok(equal, 'every byte in its place');
          resolve(at);
        });
      });
      going.on('error', reject);
      going.end();
    });
    assert.equal(bytes, large.length);
    assert.equal((await fetch(`${server.url}/api/health`)).status, 200);
  });

  it('cuts off a client that stops reading a plain answer', async () => {
    const client = new RawClient(server.port);
    client.socket.pause();
    client.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    server.records.length = 0;
    const aborted = (): boolean =>
      server.records.some((one) => (one.fields as { aborted?: boolean }).aborted === true);
    while (!aborted()) await clock.advance(limits.sendStallMs / 4);
    client.destroy();
  });

  it('says when a stream is full, holds on, and goes on when the client reads again', async () => {
    const { client, one } = await open();
    client.socket.pause();
    let given = fill(one.stream);
    let woken = 0;
    one.stream.onWritable(() => {
      woken += 1;
      bell.ring();
    });
    // Many ticks of the gateway, each of which renews the library's timer.
    for (let quiet = 0; quiet < 20; quiet++) {
      const before = woken;
      await clock.advance(limits.streamStallMs / 25);
      await fetch(`${server.url}/api/health`);
      if (woken === before) continue;
      // The kernel took some more, late.
      given += fill(one.stream);
      quiet = 0;
      assert.ok(given < 64 * 2 ** 20, 'it is full at some time');
    }
    assert.equal(one.exchange.aborted, false);
    const before = woken;
    client.socket.resume();
    await bell.until(() => woken > before);
    one.stream.end('last\n');
    await client.until(() => client.received.endsWith('last\n\r\n0\r\n\r\n'));
    const got = client.received.match(/x/g)?.length ?? 0;
    assert.ok(got >= given);
    assert.equal(one.stream.closed, true);
    assert.equal(one.stream.write('more'), false);
    client.destroy();
  });

  it('cuts off a stream that nobody reads for too long', async () => {
    const { client, one } = await open();
    client.socket.pause();
    fill(one.stream);
    one.stream.onWritable(() => fill(one.stream));
    while (!one.left) await clock.advance(limits.streamStallMs / 4);
    assert.equal(one.stream.closed, true);
    client.destroy();
  });

  it('notices a client that leaves a stream, full or not, and writes no more', async () => {
    for (const full of [false, true]) {
      const { client, one } = await open();
      if (full) {
        client.socket.pause();
        fill(one.stream);
        client.socket.resume();
      }
      client.socket.resetAndDestroy();
      await bell.until(() => one.left);
      assert.equal(one.stream.closed, true);
      assert.equal(one.stream.write('more'), false);
      one.stream.end('more');
    }
    assert.equal((await fetch(`${server.url}/api/health`)).status, 200);
  });

  it('answers for a handler that never does', async () => {
    const asked = fetch(`${server.url}/never`);
    await bell.until(() => unanswered === 1);
    await clock.advance(2 * limits.answerMs);
    const answer = await asked;
    assert.equal(answer.status, 504);
    assert.equal(((await answer.json()) as { code: string }).code, 'DEADLINE_EXCEEDED');
    assert.ok(server.records.some((one) => one.event === 'request_unanswered'));
  });

  it('cuts the connection when a handler breaks amid its answer', async () => {
    const client = new RawClient(server.port);
    client.write('GET /half HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.closed();
    assert.doesNotMatch(client.received, /\r\n0\r\n\r\n$/);
  });

  it('sends only the first of two answers and reports the second', async () => {
    server.records.length = 0;
    const answer = await fetch(`${server.url}/twice`);
    assert.deepEqual(await answer.json(), { once: true });
    const [drop] = server.records.filter(({ event }) => event === 'answer_dropped');
    assert.deepEqual((drop?.fields as { why?: string }).why, 'again');
  });

  it('drops a connection that sends a second request before the first is answered', async () => {
    const client = new RawClient(server.port);
    client.write(
      'GET /never HTTP/1.1\r\nHost: a\r\n\r\nGET /api/health HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    await client.closed();
    assert.equal(client.received, '');
  });
});

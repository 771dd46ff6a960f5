import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { BodyFlow, Exchange, Route } from '../../src/gateway/transport.ts';
import { healthRoute } from '../../src/gateway/transports/health.ts';
import type { ServiceError } from '../../src/lib/errors.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { heldFiles } from '../support/held-files.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { RawClient } from '../support/raw-http.ts';
import { tempDir } from '../support/runner.ts';

const limitBytes = 1024 * 1024;
const limits = { idleMs: 60_000, windowMs: 80_000, minBytesPerS: 1000, lingerMs: 60_000 };
const host = 'Host: a\r\n';

/** What happened to a body, in order. */
interface Flow {
  exchange: Exchange;
  bytes: number;
  chunks: ArrayBuffer[];
  ended: boolean;
  failed: ServiceError | 'aborted' | undefined;
  flow: BodyFlow;
}

describe('the gateway and request bodies', () => {
  let server: TestGateway;
  // Time passes for the gateway when a test says so: no pause of this machine is one of a client.
  const clock = new ManualClock();
  const flows: Flow[] = [];
  let takes = true;
  const wakes: (() => void)[] = [];
  const changed = (): void => {
    for (const wake of wakes.splice(0)) wake();
  };
  async function until<T>(find: () => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined && found !== false) return found;
      await new Promise<void>((resolve) => {
        wakes.push(resolve);
      });
    }
  }

  const upload: Route = {
    method: 'POST',
    path: '/upload',
    handle(exchange) {
      const one: Flow = {
        exchange,
        bytes: 0,
        chunks: [],
        ended: false,
        failed: undefined,
        flow: { resume: () => undefined },
      };
      flows.push(one);
      one.flow = exchange.streamBody(limitBytes, {
        chunk(bytes) {
          one.bytes += bytes.byteLength;
          // They are only lent.
          one.chunks.push(bytes.slice(0));
          changed();
          return takes;
        },
        end() {
          one.ended = true;
          exchange.json(200, { bytes: one.bytes });
          changed();
        },
        fail(reason) {
          one.failed = reason;
          if (reason !== 'aborted') exchange.problem(reason);
          changed();
        },
      });
      changed();
    },
  };
  const late: Route = {
    method: 'POST',
    path: '/late',
    async handle(exchange) {
      await fetch(`${server.url}/api/health`);
      exchange.json(200, { bytes: (await exchange.body(limitBytes)).length });
    },
  };
  const deaf: Route = {
    method: 'POST',
    path: '/deaf',
    handle(exchange) {
      exchange.json(403, { no: true });
    },
  };

  before(async () => {
    server = await startGateway([healthRoute, upload, late, deaf], { clock, limits });
  });
  after(() => server.close());

  const code = (body: string): string => (JSON.parse(body) as { code: string }).code;
  async function last(index: number): Promise<Flow> {
    return until(() => flows[index]);
  }

  it('gives every byte once and in order', async () => {
    const index = flows.length;
    const body = Buffer.from(Uint32Array.from({ length: 175_000 }, (_, i) => i).buffer);
    const answer = await fetch(`${server.url}/upload`, { method: 'POST', body });
    assert.deepEqual(await answer.json(), { bytes: body.length });
    const { chunks } = await last(index);
    assert.ok(Buffer.concat(chunks.map((one) => Buffer.from(one))).equals(body));
  });

  it('keeps what comes before the handler reads', async () => {
    const body = Buffer.alloc(900_000, 1);
    const answer = await fetch(`${server.url}/late`, { method: 'POST', body });
    assert.deepEqual(await answer.json(), { bytes: body.length });
  });

  it('refuses a declared length above the limit before the body, and the client sees it', async () => {
    const client = new RawClient(server.port);
    client.write(`POST /upload HTTP/1.1\r\n${host}Content-Length: ${limitBytes + 1}\r\n\r\n`);
    const answer = await client.answer();
    assert.equal(answer.status, 413);
    assert.equal(code(answer.body), 'PAYLOAD_TOO_LARGE');
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal((await last(flows.length - 1)).bytes, 0);
    client.write(Buffer.alloc(limitBytes + 1));
    assert.equal(await client.closed(), 'fin');
  });

  it('takes a body of exactly the limit', async () => {
    const body = Buffer.alloc(limitBytes);
    const answer = await fetch(`${server.url}/upload`, { method: 'POST', body });
    assert.equal(answer.status, 200);
  });

  it('refuses a body of unknown length at the byte that crosses', async () => {
    const client = new RawClient(server.port);
    const index = flows.length;
    client.write(`POST /upload HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n`);
    client.write(`${limitBytes.toString(16)}\r\n`);
    client.write(Buffer.alloc(limitBytes));
    const one = await last(index);
    await until(() => one.bytes === limitBytes);
    assert.equal(one.failed, undefined);
    client.write('\r\n1\r\na\r\n');
    const answer = await client.answer();
    assert.equal(answer.status, 413);
    client.write('0\r\n\r\n');
    assert.equal(await client.closed(), 'fin');
  });

  it('lets a client that sends on without listening see the refusal at its end', async () => {
    const client = new RawClient(server.port);
    const size = 64 * 1024 * 1024;
    client.socket.pause();
    client.write(`POST /upload HTTP/1.1\r\n${host}Content-Length: ${size}\r\n\r\n`);
    const block = Buffer.alloc(4 * 1024 * 1024);
    for (let sent = 0; sent < size; sent += block.length) {
      await new Promise<void>((resolve, reject) => {
        client.socket.write(block, (error) => {
          if (error) reject(error);
          else resolve();
        });
      });
    }
    client.socket.resume();
    assert.equal((await client.answer()).status, 413);
    assert.equal(await client.closed(), 'fin');
  });

  it('answers early without a body read: short rests keep the connection, long ones end it', async () => {
    const short = new RawClient(server.port);
    short.write(`POST /deaf HTTP/1.1\r\n${host}Content-Length: 10\r\n\r\n`);
    assert.equal((await short.answer()).status, 403);
    short.write('0123456789');
    short.write(`GET /api/health HTTP/1.1\r\n${host}\r\n`);
    assert.equal((await short.answer()).status, 200);
    short.destroy();
    const long = new RawClient(server.port);
    long.write(`POST /deaf HTTP/1.1\r\n${host}Content-Length: 10000000\r\n\r\n`);
    const answer = await long.answer();
    assert.equal(answer.status, 403);
    assert.equal(answer.headers.get('connection'), 'close');
    long.write(Buffer.alloc(10_000_000));
    assert.equal(await long.closed(), 'fin');
  });

  it('pauses the client while the reader says stop, and counts no time against it', async () => {
    takes = false;
    const client = new RawClient(server.port);
    const index = flows.length;
    client.write(`POST /upload HTTP/1.1\r\n${host}Content-Length: ${limitBytes}\r\n\r\n`);
    client.write(Buffer.alloc(limitBytes));
    const one = await last(index);
    await until(() => one.bytes > 0);
    const before = one.bytes;
    // Longer than the idle limit: only other traffic passes.
    for (let turn = 0; turn < 10; turn++) {
      await clock.advance(limits.idleMs / 4);
      await fetch(`${server.url}/api/health`);
    }
    assert.equal(one.bytes, before);
    assert.equal(one.failed, undefined);
    takes = true;
    one.flow.resume();
    assert.equal((await client.answer()).status, 200);
    assert.equal(one.bytes, limitBytes);
    client.destroy();
  });

  it('answers 408 when no byte comes', async () => {
    const client = new RawClient(server.port);
    const index = flows.length;
    client.write(`POST /upload HTTP/1.1\r\n${host}Content-Length: 1000\r\n\r\nabc`);
    const one = await last(index);
    await until(() => one.bytes === 3);
    await clock.advance(limits.idleMs * 0.9);
    assert.equal(one.failed, undefined);
    await clock.advance(limits.idleMs * 0.2);
    const answer = await client.answer();
    assert.equal(answer.status, 408);
    assert.equal(code(answer.body), 'REQUEST_TIMEOUT');
    client.destroy();
  });

  it('answers 408 when bytes come, but too slowly', async () => {
    const client = new RawClient(server.port);
    const index = flows.length;
    client.write(`POST /upload HTTP/1.1\r\n${host}Content-Length: 100000\r\n\r\n`);
    const one = await last(index);
    // Never idle for too long.
    for (let sent = 1; one.failed === undefined; sent++) {
      client.write('a');
      await until(() => one.bytes === sent);
      await clock.advance(limits.idleMs / 4);
    }
    assert.match(one.failed === 'aborted' ? '' : one.failed.message, /too slowly/);
    const answer = await client.answer();
    assert.equal(answer.status, 408);
    client.destroy();
  });

  it('tells the reader of an abort before and amid the body, and answers nothing', async () => {
    for (const begun of ['', 'abc']) {
      const client = new RawClient(server.port);
      const index = flows.length;
      client.write(`POST /upload HTTP/1.1\r\n${host}Content-Length: 1000\r\n\r\n${begun}`);
      const one = await last(index);
      await until(() => one.bytes === begun.length);
      const { signal } = one.exchange;
      const left = new Promise<void>((resolve) => {
        one.exchange.onAbort(resolve);
      });
      client.destroy();
      await left;
      assert.equal(one.failed, 'aborted');
      assert.equal(one.exchange.aborted, true);
      assert.equal(signal.aborted, true);
      one.exchange.json(200, {});
    }
    assert.equal((await fetch(`${server.url}/api/health`)).status, 200);
  });

  it('says 100 Continue to who waits for it', async () => {
    const client = new RawClient(server.port);
    client.write(
      `POST /upload HTTP/1.1\r\n${host}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
    );
    await client.until(() => client.received.endsWith('\r\n\r\n'));
    assert.match(client.received, /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    client.received = '';
    client.write('hello');
    assert.equal((await client.answer()).body, '{"bytes":5}');
    client.destroy();
  });

  it('holds what comes before anybody reads in a file, and closes that in the end', async (t) => {
    const dir = tempDir();
    t.after(() => rmSync(dir, { recursive: true }));
    const asked: (() => void)[] = [];
    const gated: Route = {
      method: 'POST',
      path: '/gated',
      async handle(exchange) {
        await new Promise<void>((resolve) => {
          asked.push(resolve);
          changed();
        });
        const body = await exchange.body(64 * 2 ** 20);
        exchange.json(200, { sha256: sha256(body) });
      },
    };
    const holding = await startGateway([gated], { heldDir: dir });
    t.after(() => holding.close());
    const client = new RawClient(holding.port);
    t.after(() => client.destroy());
    const body = Buffer.from(Uint32Array.from({ length: 2 ** 23 }, (_, i) => i).buffer);
    const expected = { sha256: sha256(body) };
    const heldBytes = (): number => heldFiles(process.pid, dir)[0] ?? 0;
    // The kernel takes the more of a connection before it is read, the faster it was read before.
    for (let seen = 0; seen === 0;) {
      client.write(`POST /gated HTTP/1.1\r\n${host}Content-Length: ${body.length}\r\n\r\n`);
      client.write(body);
      const read = await until(() => asked.shift());
      await new Promise(setImmediate);
      seen = heldBytes();
      read();
      assert.deepEqual(JSON.parse((await client.answer()).body), expected);
    }
    assert.deepEqual(heldFiles(process.pid, dir), [0]);
    await holding.close();
    assert.deepEqual(heldFiles(process.pid, dir), []);
  });
});

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Exchange, ResponseStream, Route } from '../../src/gateway/transport.ts';
import { healthRoute } from '../../src/gateway/transports/health.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { RawClient } from '../support/raw-http.ts';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe('the gateway draining', () => {
  let server: TestGateway;
  afterEach(() => server.close());

  function started(late: Promise<unknown> = Promise.resolve()): {
    routes: Route[];
    waiting: Exchange[];
    streams: ResponseStream[];
  } {
    const waiting: Exchange[] = [];
    const streams: ResponseStream[] = [];
    const routes: Route[] = [
      healthRoute,
      {
        method: 'GET',
        path: '/slow',
        handle(exchange) {
          waiting.push(exchange);
        },
      },
      {
        method: 'GET',
        path: '/stream',
        handle(exchange) {
          const stream = exchange.stream(200, {});
          stream.write('open\n');
          streams.push(stream);
        },
      },
      {
        method: 'POST',
        path: '/upload',
        async handle(exchange) {
          waiting.push(exchange);
          exchange.json(200, { bytes: (await exchange.body(1e9)).length });
        },
      },
      {
        method: 'POST',
        path: '/late',
        async handle(exchange) {
          waiting.push(exchange);
          await late;
          exchange.json(200, { bytes: (await exchange.body(1e9)).length });
        },
      },
    ];
    return { routes, waiting, streams };
  }

  async function client(path: string): Promise<RawClient> {
    const one = new RawClient(server.port);
    one.write(get('/api/health'));
    await one.answer();
    one.write(get(path));
    return one;
  }

  it('finishes what was accepted, and refuses what comes new', async () => {
    const { routes, waiting, streams } = started();
    server = await startGateway(routes, { limits: { drainMs: 30_000 } });
    server.gateway.onDrain(() => {
      for (const stream of streams) stream.end('exit\n');
    });
    const slow = await client('/slow');
    const tail = await client('/stream');
    await tail.until(() => tail.received.includes('open\n'));
    const idle = await client('/api/health');
    await idle.answer();
    const upload = new RawClient(server.port);
    upload.write('POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nbegin');
    while (waiting.length < 2) await fetch(`${server.url}/api/health`);

    const drained = server.gateway.drain();
    assert.equal(server.gateway.drain(), drained);
    idle.write(get('/api/health'));
    const refused = await idle.answer();
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('connection'), 'close');
    assert.equal(refused.headers.get('retry-after'), '5');
    assert.equal((JSON.parse(refused.body) as { code: string }).code, 'SHUTTING_DOWN');
    assert.equal(await idle.closed(), 'fin');
    const cut = await upload.answer();
    assert.equal(cut.status, 503);
    upload.destroy();
    await tail.until(() => tail.received.includes('exit\n'));
    assert.equal(await tail.closed(), 'fin');
    const late = new RawClient(server.port);
    assert.equal(await late.closed(), 'reset');
    waiting.find((one) => one.route === '/slow')?.json(200, { done: true });
    assert.equal((await slow.answer()).body, '{"done":true}');
    await drained;
  });

  it('refuses a body that is asked for later, unless it is whole, and waits for no stalled client', async () => {
    const late = Promise.withResolvers<undefined>();
    const { routes, waiting } = started(late.promise);
    server = await startGateway(routes, { limits: { drainMs: 3_600_000, lingerMs: 3_600_000 } });
    const head = 'POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n';
    const [stalled, whole] = [new RawClient(server.port), new RawClient(server.port)];
    stalled.write(`${head}beg`);
    whole.write(`${head}whole`);
    while (waiting.length < 2) await fetch(`${server.url}/api/health`);
    const drained = server.gateway.drain();
    late.resolve(undefined);
    assert.equal((await stalled.answer()).status, 503);
    assert.equal((await whole.answer()).body, '{"bytes":5}');
    await drained;
    assert.equal(await stalled.closed(), 'fin');
    stalled.destroy();
    whole.destroy();
  });

  it('cuts what is left at the deadline, and closes twice without harm', async () => {
    const { routes, waiting } = started();
    server = await startGateway(routes, { limits: { drainMs: 100 } });
    const slow = await client('/slow');
    while (waiting.length === 0) await fetch(`${server.url}/api/health`);
    await server.gateway.close();
    await slow.closed();
    assert.equal(waiting[0]?.aborted, true);
    assert.ok(server.records.some((one) => one.event === 'gateway_drain_cut'));
    await server.gateway.close();
    server.gateway.abort();
  });

  it('drains under load without one answer torn', async () => {
    const { routes } = started();
    server = await startGateway(routes, { limits: { drainMs: 60_000 } });
    let answered = 0;
    const torn: string[] = [];
    const clients = Array.from({ length: 50 }, async () => {
      const one = new RawClient(server.port);
      for (;;) {
        one.write(get('/api/health'));
        await one.until(() => one.ended !== undefined || one.received.includes('\r\n\r\n'));
        if (one.received === '') break;
        const { status, body } = await one.answer();
        if (status === 200 && body === '{"ok":true}') answered += 1;
        else if (status !== 503) torn.push(body);
        if (status !== 200) break;
      }
      one.destroy();
    });
    while (answered < 1000) await fetch(`${server.url}/api/health`);
    await server.gateway.close();
    await Promise.all(clients);
    assert.deepEqual(torn, []);
  });

  it('refuses connections above the limit, and takes new ones when others have gone', async () => {
    const { routes } = started();
    const trustedProxies = ['127.0.0.1'];
    server = await startGateway(routes, { limits: { maxSockets: 5 }, trustedProxies });
    const held = await Promise.all(Array.from({ length: 5 }, () => client('/stream')));
    for (const one of held) await one.until(() => one.received.includes('open\n'));
    const sixth = new RawClient(server.port);
    await sixth.closed();
    assert.equal(sixth.received, '');
    for (const one of held) one.destroy();
    let status = 0;
    while (status !== 200) {
      status = await fetch(`${server.url}/api/health`).then(
        (answer) => answer.status,
        () => 0,
      );
    }
    assert.match(await server.gateway.metrics.text(), /refused_sockets_total [1-9]/);
  });

  it('does not share its port', async () => {
    server = await startGateway([healthRoute]);
    await assert.rejects(startGateway([healthRoute], { port: server.port }), /Cannot listen on/);
    assert.equal((await fetch(`${server.url}/api/health`)).status, 200);
  });
});

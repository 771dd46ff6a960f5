import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EventStream, SeenEvents } from '../../../../bench/load/event-stream.ts';
import { eventually } from '../../../support/eventually.ts';

let server: Server;
let open: ServerResponse[];
let streams: EventStream[];

beforeEach(async () => {
  open = [];
  streams = [];
  server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: session\ndata: "s"\n\n');
    open.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  for (const stream of streams) stream.close();
  await new Promise((resolve) => server.close(resolve));
});

function follow(seen: SeenEvents): { stream: EventStream; events: Buffer[]; lost: Error[] } {
  const events: Buffer[] = [];
  const lost: Error[] = [];
  const { port } = server.address() as AddressInfo;
  const stream = new EventStream(
    { port, path: '/' },
    seen,
    (event) => events.push(event),
    (reason) => lost.push(reason),
  );
  streams.push(stream);
  return { stream, events, lost };
}

const texts = (events: readonly Buffer[]): string[] => events.map(String);

describe('EventStream', () => {
  it('is told each event once, and the same object where another stream had it', async () => {
    const seen = new SeenEvents();
    const followers = [follow(seen), follow(seen)];
    await Promise.all(followers.map(({ stream }) => stream.opened));
    for (const number of [1, 2, 3]) {
      for (const response of open) response.write(`id: ${number}\ndata: "line"\n\n`);
      await eventually(`event ${number}`, () =>
        followers.every(({ events }) => events.length === number + 1),
      );
    }
    const [first, second] = followers.map(({ events }) => events);
    assert.deepEqual(texts(first ?? []), [
      'event: session\ndata: "s"',
      ...[1, 2, 3].map((number) => `id: ${number}\ndata: "line"`),
    ]);
    for (const number of [1, 2, 3]) assert.equal(first?.[number], second?.[number]);
  });

  it('puts events together that come in pieces, and keeps those it told', async () => {
    const seen = new SeenEvents();
    const { stream, events } = follow(seen);
    await stream.opened;
    const [response] = open;
    for (const piece of ['id: 1\nda', 'ta: "x"\n', '\nid: 2\ndata: "y"\n\nid: 3\n']) {
      response?.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response?.write('data: "z"\n\n');
    await eventually('all events', () => events.length === 4);
    assert.deepEqual(texts(events).slice(1), [
      'id: 1\ndata: "x"',
      'id: 2\ndata: "y"',
      'id: 3\ndata: "z"',
    ]);
  });

  it('tells of a stream that ends', async () => {
    const { stream, lost } = follow(new SeenEvents());
    await stream.opened;
    open[0]?.end();
    await eventually('the end', () => lost.length === 1);
  });

  it('takes what is no stream of events for none', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => response.writeHead(404).end());
    await assert.rejects(follow(new SeenEvents()).stream.opened, /no event stream/);
  });
});

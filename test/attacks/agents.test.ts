/** What agents may do that mean harm, or are broken: nothing of it ends the process, or reaches another server. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import http2 from 'node:http2';
import net from 'node:net';
import type { TLSSocket } from 'node:tls';
import { describe, it, type TestContext } from 'node:test';

import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../support/runner.ts';
import { Voice } from '../../src/programs/agent/link/voice.ts';
import { ServedLane } from '../../src/programs/agent/link/served-lane.ts';
import type { Goodbye } from '../../src/protocol/agent-wire.ts';
import { encodePlain } from '../../src/protocol/plain-cbor.ts';
import { encodeFrame } from '../../src/protocol/message-frames.ts';
import {
  agentPort,
  dial,
  testAgent,
  type AgentPort,
  type AgentPortOptions,
} from '../support/agent-port.ts';
import { CertificateAuthority } from '../support/certificate-authority.ts';
import { eventually } from '../support/eventually.ts';

async function opened(t: TestContext, options: AgentPortOptions = {}): Promise<AgentPort> {
  const port = await agentPort(options);
  t.after(() => port.close());
  return port;
}

function closed(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    socket.resume();
    socket.once('close', () => resolve());
  });
}

/** What an agent with this certificate is told before it is closed. */
async function goodbyeTo(port: AgentPort, socket: TLSSocket, version = '0.1.0'): Promise<Goodbye> {
  let told: Goodbye | undefined;
  const lane = new ServedLane({
    ...{ lane: 'control', socket, services: { calls: {}, streams: {} }, voice: new Voice() },
    ...{ clock: systemClock, logger: noLog, onHello: () => undefined },
    answer: { version, run: 'r', host: 'h' },
    onGoodbye: (goodbye) => (told = goodbye),
  });
  await lane.ended;
  assert.ok(told, 'no goodbye');
  return told;
}

type Handler = (stream: http2.ServerHttp2Stream, path: string) => void;

/** An agent that answers hello and leaves the rest to `handler`. */
function scripted(
  socket: TLSSocket,
  handler: Handler,
  hello: unknown = good,
): http2.ServerHttp2Session {
  const session = http2.performServerHandshake(socket);
  session.on('error', () => undefined);
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const path = String(headers[':path']);
    if (path !== '/hello') {
      handler(stream, path);
      return;
    }
    stream.resume();
    stream.respond({ ':status': 200 });
    stream.end(encodePlain({ ok: hello }));
  });
  return session;
}

const good = { version: '0.1.0', run: 'r', host: 'h' };
const accept: Handler = (stream) => stream.respond({ ':status': 200 });

describe('who dials', () => {
  it('is closed without a certificate, with one of others, and with that of the port itself', async (t) => {
    const port = await opened(t);
    const other = new CertificateAuthority();
    t.after(() => other.close());
    for (const certificate of [null, other.issue(['srv_a'])]) {
      await closed(await dial(port, certificate));
    }
    const link = port.agents.of('srv_a');
    assert.equal(link.isConnected, false);
    assert.deepEqual(port.heard, []);
  });

  it('is told that its certificate is good no more, and closed', async (t) => {
    const port = await opened(t);
    const { reason, sentence } = await goodbyeTo(port, await dial(port, port.issue('nobody')));
    assert.deepEqual([reason, sentence.includes('not good any more')], ['revoked', true]);
    assert.deepEqual(port.heard, []);
  });

  it('is cut off at once when its certificate is revoked, with all that is under way', async (t) => {
    const port = await opened(t);
    const certificate = port.issue('srv_a');
    const wait = (): Promise<never> => new Promise(() => undefined);
    const goodbyes: Goodbye[] = [];
    const agent = testAgent(
      port,
      certificate,
      { calls: { wait }, streams: {} },
      {
        onGoodbye: (goodbye) => goodbyes.push(goodbye),
      },
    );
    t.after(() => agent.close());
    const link = port.agents.of('srv_a');
    await eventually('it is connected', () => link.isConnected);
    const call = link.call('wait', null, { timeoutMs: Infinity });
    port.agents.review();
    assert.equal(link.isConnected, true);
    port.revoked.add(new X509Certificate(certificate.chain).serialNumber);
    port.agents.review();
    assert.equal(link.isConnected, false);
    await assert.rejects(call, { code: 'AGENT_UNREACHABLE' });
    await eventually('it hears why', () => goodbyes.some(({ reason }) => reason === 'revoked'));
  });

  it('speaks for the server of its certificate alone', async (t) => {
    const port = await opened(t);
    const socket = await dial(port, port.issue('srv_a'));
    scripted(socket, accept, { ...good, serverId: 'srv_b', id: 'srv_b', name: 'srv_b' });
    await eventually('it is connected', () => port.agents.of('srv_a').isConnected);
    assert.equal(port.agents.of('srv_b').isConnected, false);
    assert.deepEqual(port.heard, ['connected srv_a 0.1.0']);
  });

  it('is refused with a sentence when it is of a release that does not fit', async (t) => {
    const port = await opened(t);
    const told = await goodbyeTo(port, await dial(port, port.issue('srv_a')), '0.3.0');
    assert.deepEqual(
      [told.reason, told.sentence.includes('Update Gangway first')],
      ['version', true],
    );
    assert.deepEqual(port.heard, [`refused srv_a: ${told.sentence}`]);
  });

  it('is closed when it does not say what it is', async (t) => {
    const port = await opened(t);
    const hellos = [null, 7, {}, { ...good, version: 'x'.repeat(300) }, { ...good, run: 1 }];
    for (const hello of hellos) {
      const socket = await dial(port, port.issue('srv_a'));
      scripted(socket, accept, hello);
      await closed(socket);
    }
    assert.deepEqual(port.heard, []);
  });

  it('takes the place of the connection that it had, and of no other server', async (t) => {
    const port = await opened(t);
    const other = testAgent(port, port.issue('srv_b'));
    t.after(() => other.close());
    const certificate = port.issue('srv_a');
    await eventually('it is connected', () => port.agents.of('srv_b').isConnected);
    const first = await dial(port, certificate);
    scripted(first, accept);
    await eventually('it is connected', () => port.agents.of('srv_a').isConnected);
    const second = await dial(port, certificate);
    scripted(second, accept);
    await closed(first);
    assert.equal(port.agents.of('srv_a').isConnected, true);
    assert.equal(port.agents.of('srv_b').isConnected, true);
  });
});

describe('handshakes', () => {
  it('are few at a time for each address, and do not last', async (t) => {
    const port = await opened(t, {
      listener: { underWayOfAddressMax: 5, handshakeMs: 1_000 },
    });
    const sockets: net.Socket[] = [];
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    const ends = Array.from({ length: 20 }, () => {
      const socket = net.connect(port.port, '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined).resume();
      return new Promise<void>((resolve) => socket.once('close', () => resolve()));
    });
    await assert.rejects(dial(port, port.issue('srv_a')));
    await Promise.all(ends);
    await dial(port, port.issue('srv_a')).then((socket) => socket.destroy());
  });

  it('are few in a minute for each address', async (t) => {
    const port = await opened(t, { listener: { perMinuteOfAddress: 3 } });
    const certificate = port.issue('srv_a');
    for (let i = 0; i < 3; i++) (await dial(port, certificate)).destroy();
    await assert.rejects(dial(port, certificate));
  });
});

describe('an agent that is let in', () => {
  async function letIn(t: TestContext, handler: Handler, options: AgentPortOptions = {}) {
    const port = await opened(t, options);
    const socket = await dial(port, port.issue('srv_a'));
    t.after(() => socket.destroy());
    let told: http2.ServerHttp2Stream | undefined;
    const session = scripted(socket, (stream, path) => {
      if (path !== '/told') handler(stream, path);
      else accept((told = stream), path);
    });
    const link = port.agents.of('srv_a');
    await eventually('it is connected', () => link.isConnected);
    const bulk = await dial(port, port.issue('srv_a'), 'bulk');
    t.after(() => bulk.destroy());
    scripted(bulk, handler);
    return { port, socket, session, link, told: told! };
  }

  it('is not believed an answer that never ends, or is none', async (t) => {
    const answers: Handler[] = [
      (stream) => {
        stream.respond({ ':status': 200 });
        const more = (): void => {
          if (!stream.destroyed) stream.write(Buffer.alloc(65_536), more);
        };
        more();
      },
      (stream) => {
        stream.respond({ ':status': 200 });
        stream.end('no CBOR');
      },
      (stream) => {
        stream.respond({ ':status': 200 });
        stream.end(Buffer.alloc(100_000, 0x81));
      },
      (stream) => {
        stream.respond({
          ':status': 200,
          ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x-${String(i)}`, 'y'])),
        });
        stream.end(encodePlain({ ok: 1 }));
      },
      (stream) => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR),
      (stream) => {
        stream.respond({ ':status': 200 });
        stream.end();
      },
    ];
    let at = 0;
    const { link } = await letIn(t, (stream, path) => answers[at]?.(stream, path));
    for (; at < answers.length; at++) {
      await assert.rejects(link.call('any', null), { code: 'AGENT_UNREACHABLE' }, String(at));
    }
    assert.equal(link.isConnected, true);
  });

  it('gets no headers and no code of its own into an error', async (t) => {
    const error = { code: 'NO_SUCH', detail: 'x', headers: { 'set-cookie': 'a=b' } };
    const { link } = await letIn(t, (stream) => {
      stream.respond({ ':status': 200 });
      stream.end(encodePlain({ error }));
    });
    await assert.rejects(link.call('any', null), { code: 'INTERNAL', headers: undefined });
  });

  it('stalls a stream without holding up another', async (t) => {
    const { link } = await letIn(t, (stream, path) => {
      if (path === '/stream/stall') {
        stream.respond({ ':status': 200 });
        return;
      }
      stream.respond({ ':status': 200 });
      stream.resume();
      stream.end(encodePlain({ ok: 'here' }));
    });
    const stalled = await link.stream('stall', null, 'control');
    let written = 0;
    while (stalled.write(Buffer.alloc(65_536))) written += 65_536;
    assert.ok(written < 1024 * 1024, String(written));
    assert.equal(await link.call('other', null), 'here');
    stalled.destroy();
  });

  it('is cut off when it tells what is nothing, or too large', async (t) => {
    const frames = [
      Buffer.from([0, 0x7f, 0, 0]),
      Buffer.from([0, 0, 0, 2, 0x81, 0x81]),
      encodeFrame({ name: 7 }),
      encodeFrame({ name: 'x'.repeat(70_000), message: null }),
    ];
    for (const frame of frames) {
      const { told, socket, port } = await letIn(t, accept);
      told.write(framed(frame));
      await closed(socket);
      await eventually('it is told', () => port.heard.at(-1) === 'lost srv_a');
    }
  });

  it('waits when it tells more than some at a time, and costs nothing meanwhile', async (t) => {
    const { told, link } = await letIn(t, (stream) => {
      stream.respond({ ':status': 200 });
      stream.end(encodePlain({ ok: 'here' }));
    });
    let heard = 0;
    link.watch(({ type }) => {
      if (type === 'told') heard += 1;
    });
    const frame = framed(encodeFrame({ name: 'flood', message: 'x'.repeat(1000) }));
    for (let i = 0; i < 5_000; i++) told.write(frame);
    await eventually('some are heard', () => heard >= 100);
    assert.equal(await link.call('other', null), 'here');
    assert.ok(heard < 300, String(heard));
  });

  it('is cut off when it asks on and on, and takes no answers', async (t) => {
    const asks = { much: () => Promise.resolve('x'.repeat(16 * 1024)) };
    const { told, port } = await letIn(t, accept, { agents: { asks } });
    for (let n = 0; n < 50; n++)
      told.write(framed(encodeFrame({ name: 'much', message: null, n })));
    await eventually('it is lost', () => port.heard.at(-1) === 'lost srv_a');
  });

  it('is cut off when it keeps the protocol busy', async (t) => {
    const { session, socket } = await letIn(t, accept);
    const pinging = setInterval(() => {
      for (let i = 0; i < 9 && !session.destroyed; i++) session.ping(() => undefined);
    }, 1);
    t.after(() => clearInterval(pinging));
    await closed(socket);
  });

  it('is cut off when it sends bytes without end, but no frame', async (t) => {
    const port = await opened(t);
    const socket = await dial(port, port.issue('srv_a'));
    // The head of a frame of 16 kB whose bytes come one by one.
    socket.write(Buffer.concat([emptySettings, Buffer.from([0, 0x40, 0, 0, 0, 0, 0, 0, 1])]));
    const dripping = setInterval(() => socket.write('x'), 5);
    t.after(() => clearInterval(dripping));
    const startedAtMs = performance.now();
    await closed(socket);
    assert.ok(performance.now() - startedAtMs < 30_000);
    assert.deepEqual(port.heard, []);
  });

  it('is cut off when it sends what is no HTTP/2', async (t) => {
    const port = await opened(t);
    for (const bytes of ['GET / HTTP/1.1\r\nhost: x\r\n\r\n', Buffer.alloc(100_000, 0xff)]) {
      const socket = await dial(port, port.issue('srv_a'));
      socket.write(bytes);
      await closed(socket);
    }
    assert.deepEqual(port.heard, []);
  });

  it('is cut off when it says nothing any more', async (t) => {
    const { port, socket, session } = await letIn(t, accept, { agents: { silenceMs: 400 } });
    // The socket is read no more, and so nothing is answered.
    session.setTimeout(0);
    socket.pause();
    (socket as unknown as { _handle: { readStop(): void } })._handle.readStop();
    await eventually('it is lost', () => port.heard.at(-1) === 'lost srv_a');
  });
});

const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

/** As a piece of a stream. */
function framed(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

/** What an agent may send by the frame as no decent one would: what it makes us keep is bounded. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';

import type { AgentLink } from '../../src/protocol/agent-link.ts';
import { encodePlain } from '../../src/protocol/plain-cbor.ts';
import { agentPort, dial, testAgent } from '../support/agent-port.ts';
import { eventually } from '../support/eventually.ts';
import {
  endHeaders,
  endStream,
  fieldBlock,
  frame,
  RawHttp2,
  types,
} from '../support/http2-frames.ts';

const ack = 1;
const accepted = fieldBlock([':status', '200']);

/** A server whose connection of bulk the test writes by the frame. */
async function rawBulk(t: TestContext): Promise<{ link: AgentLink; raw: RawHttp2 }> {
  const port = await agentPort();
  t.after(() => port.close());
  const certificate = port.issue('srv_a');
  const agent = testAgent(port, certificate, undefined, { run: 'r', lanes: ['control'] });
  t.after(() => agent.close());
  const link = port.agents.of('srv_a');
  await eventually('it is connected', () => link.isConnected);
  const raw = RawHttp2.answering(await dial(port, certificate, 'bulk'));
  t.after(() => raw.socket.destroy());
  raw.write(frame(types.settings, 0, 0));
  await asked(raw, 1);
  raw.write(
    frame(types.settings, ack, 0),
    frame(types.headers, endHeaders, 1, accepted),
    frame(types.data, endStream, 1, encodePlain({ ok: { version: '0.1.0', run: 'r', host: 'h' } })),
  );
  return { link, raw };
}

function asked(raw: RawHttp2, stream: number): Promise<void> {
  return eventually(`stream ${String(stream)} is asked for`, () =>
    raw.frames.some((one) => one.type === types.headers && one.stream === stream),
  );
}

describe('an agent that writes by the frame', () => {
  it('makes us keep as many bytes as it sends, though one by one', async (t) => {
    const { link, raw } = await rawBulk(t);
    const opening = link.stream('any', null, 'bulk');
    await asked(raw, 3);
    raw.write(frame(types.headers, endHeaders, 3, accepted));
    const stream = await opening;
    const sent = 100_000;
    const head = Buffer.alloc(4);
    head.writeUInt32BE(sent);
    raw.write(frame(types.data, 0, 3, head));
    const lone = frame(types.data, 0, 3, Buffer.from('x'));
    for (let i = 0; i < 100; i++) raw.write(...Array.from({ length: sent / 100 }, () => lone));
    raw.write(frame(types.ping, 0, 0, Buffer.alloc(8)));
    await eventually('all has come', () =>
      raw.frames.some(({ type, flags }) => type === types.ping && flags === ack),
    );
    let [pieces, bytes] = [0, 0];
    stream.on('data', (chunk: Buffer) => {
      pieces += 1;
      bytes += chunk.length;
    });
    await eventually('all is read', () => bytes === sent);
    assert.ok(pieces < 50, `${String(pieces)} pieces`);
    stream.destroy();
  });
});

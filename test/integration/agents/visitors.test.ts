import assert from 'node:assert/strict';
import http2 from 'node:http2';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';

import { ServiceError } from '../../../src/lib/errors.ts';
import type { AgentLink } from '../../../src/protocol/agent-link.ts';
import { agentPaths, laneWindows } from '../../../src/protocol/agent-wire.ts';
import { encodePlain } from '../../../src/protocol/plain-cbor.ts';
import { agentPort, dial } from '../../support/agent-port.ts';
import { eventually } from '../../support/eventually.ts';
import { echo, linked, textOf } from '../../support/linked-agent.ts';

describe('visitors of apps over a link', () => {
  /** As many streams of an app's visitors as are let in. */
  async function crowd(link: AgentLink, visitorsOf: string): Promise<Duplex[]> {
    const streams: Duplex[] = [];
    for (;;) {
      const one = await link.stream('flood', null, { visitorsOf }).catch((error: unknown) => error);
      if (one instanceof ServiceError) {
        assert.equal(one.code, 'OVERLOADED');
        return streams;
      }
      streams.push(one as Duplex);
    }
  }

  it('leave room for those of other apps, and for all of our own work', async (t) => {
    const flood = (_head: unknown, stream: Duplex): void => {
      stream.on('error', () => undefined);
      stream.write(Buffer.alloc(65_536));
    };
    const { link } = await linked(t, { streams: { flood, echo } });
    const ofOne = await crowd(link, 'app_one');
    const ofOther = await crowd(link, 'app_other');
    assert.deepEqual([ofOne.length, ofOther.length], [200, 100]);
    const own: Duplex[] = [];
    for (let i = 0; i < 200; i++) own.push(await link.stream('echo', null, 'bulk'));
    await assert.rejects(link.stream('echo', null, 'bulk'), { code: 'OVERLOADED' });
    own[0]?.end('backup');
    assert.equal(await textOf(own[0]!), 'backup');
    for (let round = 0; round < 9; round++) {
      for (const stream of ofOne.splice(0)) stream.destroy();
      await eventually('there is room again', async () => {
        ofOne.push(...(await crowd(link, 'app_one')));
        return ofOne.length === 150;
      });
    }
  });

  it('are broken off where together they leave far too much unread, first those that take nothing', async (t) => {
    const flood = (_head: unknown, stream: Duplex): void => {
      const more = (): void => {
        if (stream.destroyed) return;
        if (stream.write(Buffer.alloc(65_536))) setImmediate(more);
        else stream.once('drain', more);
      };
      more();
    };
    const agents = { unreadMaxBytes: 4 * laneWindows.bulk.stream };
    const { link } = await linked(t, { streams: { flood } }, { port: { agents } });
    const own = await link.stream('flood', null, 'bulk');
    const slow = await link.stream('flood', null, { visitorsOf: 'app_slow' });
    let taken = 0;
    const taking = setInterval(() => {
      taken += (slow.read(16_384) as Buffer | null)?.length ?? 0;
    }, 1);
    t.after(() => clearInterval(taking));
    const stalled: Duplex[] = [];
    for (let i = 0; i < 8; i++) {
      stalled.push(await link.stream('flood', null, { visitorsOf: 'app_stalled' }));
      const before = taken;
      await eventually('the slow one goes on', () => taken > before + 262_144);
    }
    await eventually('there are few', () => stalled.filter((one) => !one.destroyed).length <= 3);
    assert.equal(stalled[0]?.destroyed, true);
    assert.deepEqual(
      [own, slow, stalled[7]].map((one) => one?.destroyed),
      [false, false, false],
    );
  });

  it('have what an earlier agent leaves, which takes fewer streams', async (t) => {
    const port = await agentPort();
    t.after(() => port.close());
    for (const lane of ['control', 'bulk'] as const) {
      const socket = await dial(port, port.issue('srv_a'), lane);
      t.after(() => socket.destroy());
      const session = http2.performServerHandshake(socket, {
        settings: { maxConcurrentStreams: 400 },
      });
      session.on('error', () => undefined);
      session.on('stream', (stream, { ':path': path }) => {
        stream.on('error', () => undefined);
        stream.respond({ ':status': 200 });
        const hello = { version: '0.1.0', run: 'r', host: 'h' };
        if (path === agentPaths.hello) stream.end(encodePlain({ ok: hello }));
      });
    }
    const link = port.agents.of('srv_a');
    await eventually('it is connected', () => link.isConnected);
    assert.equal((await crowd(link, 'app_one')).length, 100);
    await link.stream('other', null, { visitorsOf: 'app_other' });
    for (let i = 0; i < 200; i++) await link.stream('own', null, 'bulk');
  });
});

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { describe, it } from 'node:test';

import type { AgentPeer } from '../../../src/agents/told.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { agentPort, testAgent } from '../../support/agent-port.ts';
import { eventually } from '../../support/eventually.ts';
import { echo, linked, textOf } from '../../support/linked-agent.ts';

describe('calls over a link', () => {
  it('carry plain data both ways', async (t) => {
    const calls = { same: (message: unknown) => Promise.resolve(message) };
    const { link } = await linked(t, { calls });
    const message = { text: 'ä', list: [1, -2.5, null, true], bytes: Uint8Array.of(0, 255) };
    assert.deepEqual(await link.call('same', message), message);
    assert.equal(await link.call('same', null), null);
  });

  it('reject as the handler does, without what could do harm', async (t) => {
    const { link } = await linked(t, {
      calls: {
        refuse: () =>
          Promise.reject(
            new ServiceError('CONFLICT', 'Not now.', { headers: { 'set-cookie': 'a=b' } }),
          ),
        fail: () => Promise.reject(new Error('a secret')),
      },
    });
    await assert.rejects(link.call('refuse', null), (error: ServiceError) => {
      assert.deepEqual(
        [error.code, error.message, error.headers],
        ['CONFLICT', 'Not now.', undefined],
      );
      return true;
    });
    await assert.rejects(link.call('fail', null), { code: 'INTERNAL' });
    await assert.rejects(link.call('nobody', null), { code: 'NOT_FOUND' });
    await assert.rejects(link.call('toString', null), { code: 'NOT_FOUND' });
  });

  it('abort the signal of the handler when the caller gives up', async (t) => {
    const hasAborted = Promise.withResolvers<undefined>();
    const hasBegun = Promise.withResolvers<undefined>();
    const { link } = await linked(t, {
      calls: {
        wait: (_message, signal) => {
          hasBegun.resolve(undefined);
          return new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              hasAborted.resolve(undefined);
              resolve(null);
            });
          });
        },
      },
    });
    const giving = new AbortController();
    const call = link.call('wait', null, { signal: giving.signal, timeoutMs: Infinity });
    await hasBegun.promise;
    giving.abort(new Error('enough'));
    await assert.rejects(call, /enough/);
    await hasAborted.promise;
    await assert.rejects(link.call('wait', null, { timeoutMs: 50 }), { code: 'AGENT_UNREACHABLE' });
  });

  it('are refused when they are too large, and when too many are under way', async (t) => {
    const hold = Promise.withResolvers<null>();
    t.after(() => hold.resolve(null));
    const { link } = await linked(t, {
      calls: {
        hold: () => hold.promise,
        big: () => Promise.resolve('x'.repeat(2 * 1024 * 1024)),
      },
    });
    await assert.rejects(link.call('hold', 'x'.repeat(2 * 1024 * 1024)), /larger than/);
    await assert.rejects(link.call('big', null), { code: 'INTERNAL' });
    const many = Array.from({ length: 1100 }, () => link.call('hold', null));
    const settled = Promise.allSettled(many);
    await assert.rejects(link.call('hold', null), { code: 'OVERLOADED' });
    hold.resolve(null);
    const refused = (await settled).filter(({ status }) => status === 'rejected');
    assert.ok(refused.length >= 100 && refused.length < 110, String(refused.length));
    assert.equal(await link.call('hold', null), null);
  });
});

describe('streams over a link', () => {
  it('carry bytes both ways, and end one way after the other', async (t) => {
    const { link } = await linked(t, {
      streams: {
        shout: async (head, stream) => {
          const text = await textOf(stream);
          stream.end(`${JSON.stringify(head)} ${text.toUpperCase()}`);
        },
        echo,
      },
    });
    for (const lane of ['control', 'bulk'] as const) {
      const stream = await link.stream('echo', { a: 1 }, lane);
      stream.end('hello');
      assert.equal(await textOf(stream), 'hello');
    }
  });

  it('are refused by their handler before they are accepted', async (t) => {
    const { link } = await linked(t, {
      streams: {
        none: () => {
          throw new ServiceError('NOT_RUNNING', 'It does not run.');
        },
      },
    });
    await assert.rejects(link.stream('none', null, 'bulk'), {
      code: 'NOT_RUNNING',
      message: 'It does not run.',
    });
    await assert.rejects(link.stream('nobody', null, 'bulk'), { code: 'NOT_FOUND' });
  });

  it('break with an error, not with an end, when the agent breaks them', async (t) => {
    const { link } = await linked(t, {
      streams: {
        half: (_head, stream) => {
          stream.write('half', () => stream.destroy());
        },
      },
    });
    const stream = await link.stream('half', null, 'bulk');
    await assert.rejects(textOf(stream), { code: 'AGENT_UNREACHABLE' });
  });

  it('break on the side of the agent when they are destroyed here', async (t) => {
    const broken = Promise.withResolvers<unknown>();
    const { link } = await linked(t, {
      streams: { keep: (_head, stream) => void stream.on('error', broken.resolve).resume() },
    });
    const giving = new AbortController();
    const stream = await link.stream('keep', null, 'control', giving.signal);
    stream.write('some');
    giving.abort(new Error('enough'));
    await assert.rejects(textOf(stream), /enough/);
    assert.equal(((await broken.promise) as ServiceError).code, 'AGENT_UNREACHABLE');
  });

  it('leave what nobody reads with the agent, and keep no other stream back', async (t) => {
    let sent = 0;
    const { link } = await linked(t, {
      streams: {
        flood: (_head, stream) => {
          const more = (): void => {
            if (stream.destroyed) return;
            sent += 65_536;
            if (stream.write(Buffer.alloc(65_536))) setImmediate(more);
            else stream.once('drain', more);
          };
          more();
        },
        echo,
      },
    });
    const stalled = await Promise.all(
      Array.from({ length: 4 }, () => link.stream('flood', null, 'bulk')),
    );
    let before = -1;
    await eventually('the agent waits', async () => {
      const same = sent === before;
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return same && sent === before;
    });
    assert.ok(sent < 4 * 4 * 1024 * 1024, `${String(sent)} bytes`);
    const stream = await link.stream('echo', null, 'bulk');
    stream.end(Buffer.alloc(3 * 1024 * 1024, 'x'));
    assert.equal((await textOf(stream)).length, 3 * 1024 * 1024);
    for (const one of stalled) one.destroy();
  });

  it('carry 24 MiB over a round trip of 200 ms faster than small windows allow', async (t) => {
    const { link } = await linked(t, { streams: { echo } }, { line: { delayMs: 100 } });
    const bytes = randomBytes(24 * 1024 * 1024);
    const stream = await link.stream('echo', null, 'bulk');
    const startedAtMs = performance.now();
    const hash = createHash('sha256');
    await Promise.all([
      pipeline([bytes], stream),
      (async () => {
        for await (const chunk of stream as AsyncIterable<Buffer>) hash.update(chunk);
      })(),
    ]);
    const tookMs = performance.now() - startedAtMs;
    assert.equal(hash.digest('hex'), createHash('sha256').update(bytes).digest('hex'));
    // With windows of 64 KiB it takes 77 s.
    assert.ok(tookMs < 60_000, `${String(tookMs)} ms`);
    t.diagnostic(`${tookMs.toFixed(0)} ms`);
  });
});

describe('a link that is lost', () => {
  const hanging = { wait: () => new Promise<never>(() => undefined) };

  it('fails all that is under way and all that is new, and comes back by itself', async (t) => {
    const { link, line } = await linked(t, {
      calls: { ...hanging, ping: () => Promise.resolve('pong') },
      streams: { echo },
    });
    const seen: string[] = [];
    link.watch(({ type }) => seen.push(type));
    const call = assert.rejects(link.call('wait', null), { code: 'AGENT_UNREACHABLE' });
    const stream = await link.stream('echo', null, 'control');
    line.cut();
    await call;
    await assert.rejects(textOf(stream), { code: 'AGENT_UNREACHABLE' });
    await eventually('it is connected again', () => link.isConnected);
    assert.equal(await link.call('ping', null), 'pong');
    assert.deepEqual(seen, ['disconnected', 'connected']);
  });

  it('is told to be connected when another connection has taken the place of one that was half open', async (t) => {
    const port = await agentPort();
    t.after(() => port.close());
    const certificate = port.issue('srv_a');
    const long = { pauseMinMs: 60_000, pauseMaxMs: 60_000 };
    for (const run of ['first', 'second']) {
      const agent = testAgent(port, certificate, undefined, { run, ...long });
      t.after(() => agent.close());
      await eventually(`${run} is connected`, () => port.heard.at(-1) === 'connected srv_a 0.1.0');
      if (run === 'first') port.heard.push('then');
    }
    assert.equal(port.agents.of('srv_a').isConnected, true);
    assert.deepEqual(port.heard.slice(2), ['lost srv_a', 'connected srv_a 0.1.0']);
  });

  it('fails at once while it is away', async (t) => {
    const { link, agent } = await linked(t, {});
    await agent.close();
    await eventually('it is lost', () => !link.isConnected);
    await assert.rejects(link.call('any', null), { code: 'AGENT_UNREACHABLE' });
    await assert.rejects(link.stream('any', null, 'bulk'), { code: 'AGENT_UNREACHABLE' });
    await assert.rejects(link.stream('any', null, 'control'), { code: 'AGENT_UNREACHABLE' });
  });

  it('fails what is new within seconds of a pulled cable, and is cut within some more', async (t) => {
    const { link, line } = await linked(
      t,
      { calls: hanging, streams: { echo } },
      { port: { agents: { silenceMs: 4_000 } }, agent: { silenceMs: 4_000 } },
    );
    const older = link.call('wait', null, { timeoutMs: Infinity });
    older.catch(() => undefined);
    line.pull();
    const startedAtMs = performance.now();
    await assert.rejects(link.call('wait', null, { timeoutMs: Infinity }), {
      code: 'AGENT_UNREACHABLE',
    });
    await assert.rejects(link.stream('echo', null, 'bulk'), { code: 'AGENT_UNREACHABLE' });
    await new Promise<void>((resolve) => link.unlessHeard(resolve));
    const tookMs = performance.now() - startedAtMs;
    assert.ok(tookMs > 3_900 && tookMs < 12_000, `${String(tookMs)} ms`);
    await assert.rejects(older, { code: 'AGENT_UNREACHABLE' });
    assert.equal(link.isConnected, false);
    line.plug();
    await eventually('it is connected again', () => link.isConnected);
  });

  it('keeps a call that takes long on a link that lives', async (t) => {
    const done = Promise.withResolvers<string>();
    const { link } = await linked(t, { calls: { long: () => done.promise } });
    const call = link.call('long', null, { timeoutMs: Infinity });
    setTimeout(() => done.resolve('done'), 2_500);
    assert.equal(await call, 'done');
  });
});

describe('what an agent says by itself', () => {
  it('is told to who watches, and answered where it asks', async (t) => {
    const asks = {
      double: ({ serverId, serial }: AgentPeer, message: unknown) =>
        Promise.resolve([serverId, serial.length > 10, Number(message) * 2]),
      refuse: () => Promise.reject(new ServiceError('CONFLICT', 'No.')),
    };
    const { link, agent } = await linked(t, {}, { port: { agents: { asks } } });
    const told: unknown[] = [];
    link.watch((event) => told.push(event));
    agent.voice.tell('news', { a: 1 });
    assert.deepEqual(await agent.voice.ask('double', 21), ['srv_a', true, 42]);
    await assert.rejects(agent.voice.ask('refuse', null), { code: 'CONFLICT' });
    await assert.rejects(agent.voice.ask('nobody', null), { code: 'NOT_FOUND' });
    assert.deepEqual(told, [{ type: 'told', name: 'news', message: { a: 1 } }]);
  });

  it('fails while there is no connection', async (t) => {
    const { agent } = await linked(t, {});
    await agent.close();
    await assert.rejects(agent.voice.ask('any', null), { code: 'AGENT_UNREACHABLE' });
    agent.voice.tell('any', null);
  });
});

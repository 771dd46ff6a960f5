/** The driver of another server behind a link that is cut, pulled and plugged, and before an agent that lies. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Duplex } from 'node:stream';

import type { DriverEvent } from '../../../src/drivers/driver.ts';
import { createRemoteDriver } from '../../../src/drivers/remote/remote-driver.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import type { AgentServices, AgentStream } from '../../../src/protocol/agent-link.ts';
import { runnerCalls, runnerGreeting } from '../../../src/protocol/agent-runner.ts';
import type { LogEntry } from '../../../src/protocol/workload.ts';
import { joinedLink } from '../../support/agent-link.ts';
import {
  assertAscending,
  collectInto,
  js,
  running,
  sh,
  specOf,
  textOf,
} from '../../support/driver-specs.ts';
import { eventually } from '../../support/eventually.ts';
import { lying, silent, workloadOf } from '../../support/lying-runner.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { memoryLogger } from '../../support/memory-logger.ts';
import { remotePlace, type RemotePlace } from '../../support/remote-place.ts';
import { noLog, runnerPid } from '../../support/runner.ts';
import type { LineOptions } from '../../support/slow-line.ts';

describe('the driver of another server', () => {
  async function placeOf(t: TestContext, given?: LineOptions): Promise<RemotePlace> {
    const place = await remotePlace(given);
    t.after(() => place.close());
    await place.driver.open();
    return place;
  }

  it('loses no line and repeats none over cuts, kills of the agent, and a pulled cable', async (t) => {
    const { driver, line, killAgent, startAgent } = await placeOf(t);
    const count =
      'let i = 0; setInterval(() => { if (i < 300) console.log("line " + ++i); else process.exit(0) }, 20)';
    await driver.start(specOf({ id: 'count-1', command: js(count) }));
    const entries: LogEntry[] = [];
    const over = new AbortController();
    t.after(() => over.abort());
    const follow = driver.follow('count-1', 0, collectInto(entries), over.signal);
    const lines = (least: number): Promise<void> =>
      eventually(`line ${String(least)}`, () => entries.length >= least);
    await lines(30);
    line.cut();
    await lines(60);
    await killAgent();
    await startAgent();
    await lines(120);
    line.pull();
    setTimeout(() => line.plug(), 3_000);
    await follow;
    assertAscending(entries);
    const expected = Array.from({ length: 300 }, (_, i) => `line ${String(i + 1)}\n`);
    assert.equal(textOf(entries), expected.join(''));
  });

  it('fails within seconds while nobody is reached, says when somebody is, and leaves no terminal', async (t) => {
    const { driver, line, link } = await placeOf(t);
    await driver.start(specOf({ id: 'on-1', command: sh('exec sleep 100000'), kind: 'service' }));
    const events: DriverEvent[] = [];
    driver.watch((event) => events.push(event));
    let exit: { lost: boolean } | undefined;
    const terminal = { command: sh('exec sleep 98765'), cols: 80, rows: 24, env: {} };
    const ears = { output: () => undefined, exit: (how: { lost: boolean }) => (exit = how) };
    line.pull();
    const startedAtMs = performance.now();
    // What was given up may still be done, before anybody hears that the server is back.
    const asked = [
      driver.list(),
      driver.inspect('on-1'),
      driver.stop('none-1'),
      driver.openTerminal('on-1', terminal, ears),
    ];
    const isRefused = (one: Promise<unknown>): Promise<void> =>
      assert.rejects(one, { code: 'AGENT_UNREACHABLE' });
    await Promise.all(asked.map(isRefused));
    assert.equal(await driver.answers(1_000), false);
    assert.ok(performance.now() - startedAtMs < 6_000, 'it took too long');
    await eventually('it is lost', () => events.some(({ type }) => type === 'disconnected'));
    const isAway = performance.now();
    await assert.rejects(driver.start(specOf({ id: 'on-2', command: sh('true') })), {
      code: 'AGENT_UNREACHABLE',
    });
    assert.ok(performance.now() - isAway < 2_000);
    line.plug();
    await eventually('it is back', () => events.some(({ type }) => type === 'connected'));
    assert.equal(link.isConnected, true);
    const back = events.find((event) => event.type === 'connected');
    assert.deepEqual(
      back?.workloads.map(({ spec }) => spec.id),
      ['on-1'],
    );
    assert.equal((await driver.inspect('on-1'))?.state.phase, 'running');
    await eventually('the terminal has ended', () => exit?.lost === false, 10_000);
    assert.deepEqual(running('sleep 98765'), []);
    await driver.remove('on-1');
  });

  it('goes on with terminals, commands and pipes over a cut, and ends them with the agent', async (t) => {
    const { driver, line, killAgent, startAgent } = await placeOf(t);
    await driver.start(specOf({ id: 'cut-1', command: sh('exec sleep 100000'), kind: 'service' }));
    let text = '';
    let exit: { lost: boolean } | undefined;
    const spec = { command: ['/bin/cat'], cols: 80, rows: 24, env: {} };
    const terminal = await driver.openTerminal('cut-1', spec, {
      output: (bytes) => (text += Buffer.from(bytes).toString()),
      exit: (how) => (exit = how),
    });
    const { signal } = new AbortController();
    const bounds = { env: {}, timeoutMs: 30_000, maxBytes: 100 };
    const command = driver.exec('cut-1', { command: sh('sleep 3; echo done'), ...bounds }, signal);
    async function* pieces(): AsyncGenerator<Buffer> {
      for (let i = 0; i < 64; i++) {
        yield Buffer.alloc(128 * 1024, i);
        // Both ways are busy: where a write fails while Node takes bytes, it takes some of them twice.
        if (i % 32 === 16) line.cut();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    const { output, ended } = await driver.pipe(
      'cut-1',
      { command: ['/bin/cat'], env: {} },
      pieces(),
      signal,
    );
    let [size, sum] = [0, 0];
    for await (const bytes of output) {
      size += bytes.length;
      for (const byte of bytes) sum += byte;
    }
    assert.deepEqual([size, sum], [64 * 128 * 1024, 63 * 32 * 128 * 1024]);
    assert.equal((await ended).exitCode, 0);
    for (const word of ['first', 'second']) {
      line.cut();
      terminal.write(Buffer.from(`${word}\r`));
      await eventually(`the echo of ${word}`, () => text.includes(`${word}\r\n${word}\r\n`));
    }
    assert.equal(Buffer.from((await command).output).toString(), 'done\n');
    assert.equal(exit, undefined);
    await killAgent();
    await startAgent();
    await eventually('the terminal is lost', () => exit?.lost === true);
    await driver.remove('cut-1');
  });

  it('goes on with a command whose line is cut right behind it', async (t) => {
    const { driver, line } = await placeOf(t, { delayMs: 100 });
    await driver.start(specOf({ id: 'cut-2', command: sh('exec sleep 100000'), kind: 'service' }));
    const before = line.carried.back;
    const bounds = { env: {}, timeoutMs: 30_000, maxBytes: 100 };
    const spec = { command: sh('sleep 3; echo done'), ...bounds };
    const command = driver.exec('cut-2', spec, new AbortController().signal);
    while (line.carried.back === before) await new Promise((resolve) => setImmediate(resolve));
    line.cut();
    assert.equal(Buffer.from((await command).output).toString(), 'done\n');
    await driver.remove('cut-2');
  });

  it('is back where the line falls silent right behind a cut', async (t) => {
    const place = await placeOf(t);
    const { line, link } = place;
    const logger = memoryLogger();
    const driver = place.open({ logger });
    t.after(() => driver.close());
    await driver.start(specOf({ id: 'flap-1', command: sh('exec sleep 100000'), kind: 'service' }));
    const [told, heard]: [string[], string[]] = [[], []];
    driver.watch(({ type }) => told.push(type));
    link.watch(({ type }) => {
      heard.push(type);
      if (type === 'connected') line.pull();
    });
    line.cut();
    await eventually('it is silent', () =>
      logger.events.some(({ event }) => event === 'runner_not_reached'),
    );
    assert.equal(told.includes('connected'), false);
    line.plug();
    await eventually('it is back', () => told.includes('connected'), 15_000);
    // It was silent for less than the link bears.
    assert.deepEqual(heard.slice(0, 2), ['disconnected', 'connected']);
    await driver.remove('flap-1');
  });

  it('opens while the agent is away, and connects by itself when it comes', async (t) => {
    const place = await placeOf(t);
    const spec = specOf({ id: 'kept-1', command: sh('exec sleep 100000'), kind: 'service' });
    await place.driver.start(spec);
    await place.killAgent();
    await eventually('it is gone', () => !place.link.isConnected);
    const other = place.open();
    t.after(() => other.close());
    const seen: string[] = [];
    other.watch((event) => {
      if (event.type === 'connected') seen.push(...event.workloads.map(({ spec: { id } }) => id));
    });
    await other.open();
    assert.equal(seen.length, 0);
    await place.startAgent();
    await eventually('it sees what runs', () => seen.includes('kept-1'));
    await other.remove('kept-1');
  });

  it('runs again what is to run after the runner was killed while nobody was connected', async (t) => {
    const place = await placeOf(t);
    const command = sh('echo up; exec sleep 100000');
    await place.driver.start(specOf({ id: 'again-1', command, kind: 'service' }));
    place.line.pull();
    await place.killRunner();
    await eventually('the agent starts another', async () => {
      return (await runnerPid(place.dataDir)) !== undefined;
    });
    place.line.plug();
    await eventually('it runs', async () => {
      const workload = await place.driver.inspect('again-1').catch(() => undefined);
      return workload?.state.phase === 'running' && workload.state.restarts > 0;
    });
    await place.driver.remove('again-1');
  });
});

describe('the driver before an agent that lies', () => {
  /** Not open yet. */
  function driverOf(t: TestContext, services: AgentServices) {
    const link = joinedLink('srv_a', services);
    const clock = new ManualClock();
    const driver = createRemoteDriver({ link, logger: noLog, isOwn: () => true, clock });
    t.after(() => driver.close());
    return { driver, link, clock };
  }

  it('asks again while nobody says whether anything is on record', async (t) => {
    let asked = 0;
    const { driver, clock } = driverOf(t, {
      calls: {
        [runnerCalls.records]: () =>
          ++asked < 3 ? Promise.reject(silent) : Promise.resolve(false),
      },
      streams: {
        [runnerCalls.stream]: () => {
          throw new ServiceError('NOT_RUNNING', 'None listens.');
        },
      },
    });
    const events: DriverEvent[] = [];
    driver.watch((event) => events.push(event));
    await driver.open();
    await clock.advance(60_000);
    assert.deepEqual([asked, events], [3, [{ type: 'connected', workloads: [] }]]);
  });

  it('connects again where it was silent as its runner was lost', async (t) => {
    const { events, tell } = await lying(t, () => ({ ok: [] }), { says: [true, false] });
    tell(null);
    await eventually('it is connected again', () => events.length >= 3, 10_000);
    const types = events.map(({ type }) => type);
    assert.deepEqual(types, ['connected', 'disconnected', 'connected']);
  });

  it('waits for no stream that stalls', async (t) => {
    const greeted = runnerGreeting('00'.repeat(16), 0);
    const gives = (bytes: Uint8Array) => (_head: unknown, stream: Duplex) =>
      void stream.write(bytes);
    const cases: [number, AgentStream, isSilent?: boolean][] = [
      [5_000, () => undefined],
      [5_000, gives(greeted.subarray(1))],
      [5_000, gives(greeted)],
      [2_000, gives(greeted), true],
      [20_000, () => new Promise<never>(() => undefined)],
    ];
    for (const [afterMs, stream, isSilent = false] of cases) {
      const { driver, link, clock } = driverOf(t, {
        calls: { [runnerCalls.records]: () => Promise.resolve(true) },
        streams: { [runnerCalls.stream]: stream },
      });
      if (isSilent) link.unlessHeard = (onSilence) => clock.after(2_000, onSilence);
      const terminal = { command: ['/bin/true'], cols: 80, rows: 24, env: {} };
      const deaf = { output: () => undefined, exit: () => undefined };
      const codes: unknown[] = [];
      for (const asked of [driver.openTerminal('x', terminal, deaf), driver.inspect('x')]) {
        asked.catch((error: unknown) => codes.push((error as ServiceError).code));
      }
      await settle();
      await clock.advance(afterMs);
      assert.deepEqual(codes, ['AGENT_UNREACHABLE', 'AGENT_UNREACHABLE'], String(afterMs));
    }
  });

  it('hears nothing of workloads whose owners are elsewhere', async (t) => {
    const both = [workloadOf('a-1', 'app_own'), workloadOf('b-1', 'app_other')];
    const { driver, events, tell } = await lying(t, ({ op }) =>
      op === 'list' ? { ok: both } : { ok: both[1] },
    );
    assert.deepEqual(
      (await driver.list()).map(({ spec }) => spec.id),
      ['a-1'],
    );
    assert.equal(await driver.inspect('b-1'), undefined);
    const connected = events.find((event) => event.type === 'connected');
    assert.deepEqual(
      connected?.workloads.map(({ spec }) => spec.id),
      ['a-1'],
    );
    tell({ event: 'state', workload: both[1] });
    tell({ event: 'state', workload: both[0] });
    await eventually('it is told', () => events.some(({ type }) => type === 'state'));
    const states = events.filter((event) => event.type === 'state');
    assert.deepEqual(
      states.map(({ workload }) => workload.spec.id),
      ['a-1'],
    );
  });

  it('takes no error of it but code and sentence', async (t) => {
    const error = { code: 'CONFLICT', detail: 'No.', headers: { 'set-cookie': 'a=b' } };
    const { driver } = await lying(t, ({ op }) => (op === 'list' ? { ok: [] } : { error }));
    await assert.rejects(driver.freePort(), { code: 'CONFLICT', headers: undefined });
  });

  it('gives up a connection on which frames have no shape, and goes on', async (t) => {
    const frames = [
      null,
      7,
      [],
      { event: 'state' },
      { event: 'state', workload: {} },
      { event: 'terminal-output', terminal: 1 },
      { re: 'x', ok: 1 },
      { event: 'state', workload: { spec: null } },
    ];
    const { driver, tell } = await lying(t, () => ({ ok: [] }));
    for (const frame of frames) {
      tell(frame);
      await eventually('it answers', () =>
        driver.list().then(
          (list) => list.length === 0,
          () => false,
        ),
      );
    }
  });
});

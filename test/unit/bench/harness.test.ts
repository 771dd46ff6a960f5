import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { afterEach, describe, it } from 'node:test';
import { Bench } from '../../../bench/harness.ts';
import { sendEach } from '../../../bench/load/calls.ts';
import { httpLoad } from '../../../bench/load/http.ts';
import { openLoop, openLoopNote } from '../../../bench/load/open-loop.ts';
import { usageOf } from '../../../bench/processes.ts';
import { inTurn, sameBytes, sameJson } from '../../../bench/rounds.ts';
import { eventually } from '../../support/eventually.ts';

const answer = Buffer.from('{"ok":true}');
const request = { path: '/' };

describe('Bench', () => {
  let bench = new Bench({ quick: true });
  afterEach(async () => {
    await bench.close();
    bench = new Bench({ quick: true });
  });
  const start = (mode: string) => bench.startServer('test/fixtures/bench/server.ts', [mode]);
  const contenders = async (mode: string, check = sameBytes(answer)) => ({
    ours: { server: await start(mode), request, check },
  });
  const load = { connections: 2, seconds: 1, warmUpSeconds: 0 };

  it('measures a server that answers as it should', async () => {
    const server = await start('right');
    const calls = [{ request, share: 1, expected: answer.toString() }];
    const result = await openLoop(bench, server, {
      calls,
      connections: 3,
      perSecond: 200,
      seconds: 0.3,
    });
    assert.equal(result.calls, 60);
    assert.ok(result.latency.p50 > 0 && result.latency.p50 <= result.latency.max);
    assert.ok(result.cpuUs >= 0);
    assert.ok(result.late.max >= 0);
    assert.equal(openLoopNote([]), 'open loop');
    const late = { ...result.late, p99: 4.04 };
    assert.match(openLoopNote([late]), /up to 4\.0 ms late, which is not counted$/);
  });

  it('fails where a server refuses', async () => {
    await assert.rejects(inTurn(bench, await contenders('refuses'), load), /wrong answer: 500/);
    const server = await start('refuses');
    await assert.rejects(
      httpLoad(bench, server, { ...request, connections: 1, seconds: 1 }),
      /were wrong/,
    );
  });

  it('fails where answers turn wrong under load, closed loop and open', async () => {
    await assert.rejects(inTurn(bench, await contenders('changes'), load), /wrong answer/);
    const json = sameJson(answer);
    await assert.rejects(inTurn(bench, await contenders('changes', json), load), /wrong answer/);
    const calls = [{ request, share: 1, expected: answer.toString() }];
    const open = openLoop(bench, await start('changes'), { calls, perSecond: 100, seconds: 0.2 });
    await assert.rejects(open, /paced\.ts ended with 1: Error: wrong answer: 200 \{"ok":null\}/);
  });

  it('fails where answers shrink, though each is a 200', async () => {
    const server = await start('shrinks');
    const { ok } = await fetch(server.url);
    assert.ok(ok);
    const shrunk = httpLoad(bench, server, {
      ...request,
      answerBytes: 150,
      connections: 1,
      seconds: 1,
    });
    await assert.rejects(shrunk, /bytes on average, not 150/);
  });

  it('goes on for longer where the first answer takes longer than the round', async () => {
    const load = { ...request, connections: 1, seconds: 1 };
    const { requestsPerS } = await httpLoad(bench, await start('wakes'), load);
    assert.ok(requestsPerS > 0);
  });

  it('fails at once where a server dies, and stays so', async () => {
    const dying = await start('dies');
    const other = await start('right');
    for (let i = 0; i < 3; i++) await fetch(dying.url).catch(() => undefined);
    await assert.rejects(
      bench.load('bench/load/sockets.ts', {
        port: other.port,
        path: '/',
        connections: 1,
        seconds: 30,
      }),
      /server\.ts died: SIGKILL/,
    );
    await assert.rejects(start('right'), /died/);
    await assert.rejects(
      bench.eachRound(1, async () => undefined),
      /died/,
    );
  });

  it('fails where a server ends before it listens, or there is none', async () => {
    await assert.rejects(start('quits'), /server\.ts died: 3: Error: this port is taken/);
    await bench.close();
    bench = new Bench({ quick: true });
    await assert.rejects(
      bench.startServer('test/fixtures/bench/no-such.ts'),
      /before it listened|died/,
    );
  });

  it('fails where a load breaks, or what makes it is not installed', async () => {
    const endless = bench.load('test/fixtures/bench/server.ts', ['right'], { timeoutMs: 200 });
    await assert.rejects(endless, /server\.ts did not end within 200 ms/);
    await assert.rejects(bench.run('no-such-load-program', []), /ENOENT/);
  });

  it('keeps one answer of many that are alike, and fails where one is not', async () => {
    const requests = Array.from({ length: 50 }, () => request);
    const alike = { alike: true };
    const right = await sendEach(bench, await start('right'), requests, 3, alike);
    assert.deepEqual([right.calls, right.answers], [50, [answer.toString()]]);
    const each = await sendEach(bench, await start('right'), requests, 3);
    assert.equal(each.answers.length, 50);
    await assert.rejects(
      sendEach(bench, await start('changes'), requests, 3, alike),
      /each-once\.ts ended with 1: Error: wrong answer: 200 \{"ok":null\}/,
    );
  });

  it('charges a server that stands still for all that waited', async () => {
    const server = await start('stalls');
    const calls = [{ request, share: 1, expected: answer.toString() }];
    const { latency } = await openLoop(bench, server, {
      calls,
      connections: 4,
      perSecond: 200,
      seconds: 1,
    });
    // A closed loop would see one slow answer a connection, 4 of 200: this sees some sixty.
    assert.ok(latency.p90 > 50, `p90 was ${latency.p90} ms`);
    assert.ok(latency.p50 < latency.p90);
  });

  it('ends what it started and removes what it made', async () => {
    const { pid } = await start('right');
    const dir = bench.tempDir();
    assert.ok(usageOf(pid).rssBytes > 0);
    await bench.close();
    await eventually('the server to end', () => !existsSync(`/proc/${pid}`));
    assert.ok(!existsSync(dir));
    await assert.rejects(start('right'), /the scenario is over/);
  });

  it('tells the CPU time of a process in about what it used', () => {
    const read = (): number => usageOf(process.pid).cpuUs;
    const [before, startedUs] = [read(), process.cpuUsage()];
    let usedUs = 0;
    while (usedUs < 150_000) {
      const { user, system } = process.cpuUsage(startedUs);
      usedUs = user + system;
    }
    const told = read() - before;
    assert.ok(Math.abs(told - usedUs) < 45_000, `${told} us, not about ${usedUs}`);
  });

  it('has as many rounds as it is asked for, and takes its turn before each', async () => {
    let turns = 0;
    const rounds: number[] = [];
    const turn = async (): Promise<void> => void (turns += 1);
    const full = new Bench({ quick: false, turn });
    await full.eachRound(3, async (round) => void rounds.push(round));
    assert.deepEqual([rounds, turns], [[0, 1, 2], 3]);
    const quick = new Bench({ quick: true, turn });
    await quick.eachRound(3, async () => undefined);
    assert.equal(turns, 4);
    assert.equal(quick.pick('full', 'quick'), 'quick');
  });
});

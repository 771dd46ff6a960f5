import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Bench, Scenario } from '../../../bench/harness.ts';
import { Interrupts } from '../../../bench/interrupts.ts';
import { row } from '../../../bench/model.ts';
import type { Row } from '../../../bench/model.ts';
import { Runner } from '../../../bench/runner.ts';
import { eventually } from '../../support/eventually.ts';

const figure = row({
  what: 'throughput',
  unit: 'req/s',
  better: 'higher',
  rounds: { ours: [4711] },
});

function runnerOf(run: (bench: Bench) => Promise<Row[]>, limitMs = 30_000) {
  const printed: string[] = [];
  const scenario: Scenario = { title: 'something', run };
  const interrupts = new Interrupts();
  const runner = new Runner({
    interrupts,
    scenarioOf: async () => scenario,
    print: (text) => void printed.push(text),
    printError: (text) => void printed.push(text),
    limitMs,
  });
  return { printed, runner, interrupts };
}

describe('Runner', () => {
  it('prints what a scenario found, and returns it', async () => {
    const { runner, printed } = runnerOf(async () => [figure]);
    const result = await runner.run('x', { quick: false });
    assert.ok('rows' in result && result.rows[0] === figure);
    assert.match(printed.join('\n'), /x: something[^]*throughput +4,711 +req\/s/);
  });

  it('prints no figure of a scenario that fails, but why', async () => {
    const { runner, printed } = runnerOf(async (bench) => {
      const server = await bench.startServer('test/fixtures/bench/server.ts', ['dies']);
      await bench.eachRound(1, async () => {
        for (let i = 0; i < 3; i++) await fetch(server.url).catch(() => undefined);
        await eventually('the server to die', () => !existsSync(`/proc/${server.pid}/exe`));
      });
      return [figure];
    });
    const result = await runner.run('x', { quick: true });
    assert.ok('failed' in result && result.isFault);
    assert.match(result.failed, /server\.ts died/);
    assert.ok(!('rows' in result));
    assert.match(printed.join('\n'), /x failed, no figures: .*died/);
    assert.doesNotMatch(printed.join('\n'), /4,711/);
  });

  it('fails a scenario that measured nothing, that cannot be loaded, or that hangs', async () => {
    const nothing = await runnerOf(async () => []).runner.run('x', { quick: true });
    assert.ok('failed' in nothing && nothing.failed.includes('measured nothing'));
    const hangs = await runnerOf(() => new Promise(() => undefined), 50).runner.run('x', {
      quick: true,
    });
    assert.ok('failed' in hangs && hangs.failed.includes('did not end within 50 ms'));
    const unloadable = new Runner({
      interrupts: new Interrupts(),
      scenarioOf: async () => {
        throw new Error('no such module');
      },
      print: () => undefined,
      printError: () => undefined,
      limitMs: 50,
    });
    const result = await unloadable.run('x', { quick: true });
    assert.ok('failed' in result && result.failed === 'no such module');
  });

  it('ends what a scenario started, also when it is interrupted', async () => {
    let pid = 0;
    const over = Promise.withResolvers<Row[]>();
    const { runner, interrupts } = runnerOf(async (bench) => {
      ({ pid } = await bench.startServer('test/fixtures/bench/server.ts'));
      return await over.promise;
    }, 60_000);
    const running = runner.run('x', { quick: true });
    await eventually('the server', () => pid !== 0);
    await interrupts.closeAll();
    await eventually('the server to end', () => !existsSync(`/proc/${pid}`));
    over.reject(new Error('the server has ended'));
    assert.ok('failed' in (await running));
  });

  it('takes turns between two states of the project, and names the side that failed', async () => {
    const order: string[] = [];
    let sides = 0;
    const { runner, printed } = runnerOf(async (bench) => {
      const side = sides++;
      const rounds: number[] = [];
      await bench.eachRound(3, async (round) => {
        order.push(`${side}${round}`);
        rounds.push(side === 0 ? 100 : 200 + round);
      });
      return [
        row({ what: 'throughput', unit: 'req/s', better: 'higher', rounds: { ours: rounds } }),
      ];
    });
    const base = { root: process.cwd(), node: process.execPath };
    const result = await runner.compare('x', { quick: true, affinity: null, base });
    assert.deepEqual(order, ['00', '10', '01', '11', '02', '12']);
    assert.ok('rows' in result && result.rows[0]?.others[0]?.ratio === 2.01);
    assert.match(printed.join('\n'), /throughput +100 +201 +req\/s +2\.010 +better/);

    let begun = 0;
    const absent = runnerOf(async (bench) => {
      if (begun++ === 0) throw new Error('answered 404');
      await bench.eachRound(1, async () => undefined);
      return [figure];
    });
    const failed = await absent.runner.compare('x', { quick: true, affinity: null, base });
    assert.ok('failed' in failed && !failed.isFault);
    assert.equal(failed.failed, 'base: answered 404');
  });
});

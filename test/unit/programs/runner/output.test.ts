import assert from 'node:assert/strict';
import fs from 'node:fs';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { decodeRecords } from '../../../../src/protocol/log-records.ts';
import { FairTurns } from '../../../../src/programs/runner/fair-turns.ts';
import { Output } from '../../../../src/programs/runner/output.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { noLog, tempDir } from '../../../support/runner.ts';

describe('Output', () => {
  let dir: string;
  let clock: ManualClock;
  let turns: FairTurns;
  const outputs: Output[] = [];
  beforeEach(() => {
    dir = tempDir();
    clock = new ManualClock();
    turns = new FairTurns(clock, noLog);
  });
  afterEach(() => {
    for (const output of outputs.splice(0)) output.close();
    fs.rmSync(dir, { recursive: true });
  });

  function make(name: string, holdBytes = 1e9): Output {
    const sizes = { maxBytes: 1e9, fileBytes: 1e6, holdBytes, releaseBytes: holdBytes / 2 };
    const times = { lineIdleMs: 100, followerStallMs: 30_000 };
    const options = { dir: `${dir}/${name}`, ...sizes, ...times };
    const output = new Output(options, clock, noLog, turns);
    outputs.push(output);
    return output;
  }

  /** All that is spooled behind `afterSeq` now. */
  async function linesOf(output: Output, afterSeq = 0): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const asked = new AbortController();
      const answer = output.read(afterSeq + lines.length, 100_000, asked.signal);
      await settle();
      asked.abort();
      const got = await answer;
      if (!got || got.records.length === 0) return lines;
      const entries = decodeRecords(got.records, got.firstSeq);
      lines.push(...entries.map(({ bytes }) => Buffer.from(bytes).toString()));
    }
  }

  it('takes a flood of empty lines by turns, and others meanwhile', async () => {
    const [flooded, quiet] = [make('flooded'), make('quiet')];
    const flood = new PassThrough();
    const ended = flooded.attach(flood, 'stdout');
    const few = new PassThrough();
    void quiet.attach(few, 'stdout');
    const count = 20_000;
    flood.end('\n'.repeat(count));
    few.write('here\n');
    await settle();
    assert.deepEqual(await linesOf(quiet), ['here\n']);
    let before = (await linesOf(flooded)).length;
    assert.ok(before <= 256);
    while (before < count) {
      await clock.advance(1);
      const now = before + (await linesOf(flooded, before)).length;
      assert.ok(now - before <= 256 && now > before, `${String(before)} to ${String(now)}`);
      before = now;
    }
    await clock.advance(5);
    await ended;
  });

  it('does not read on while it has something to take', async () => {
    const output = make('flooded');
    const pipe = new PassThrough({ highWaterMark: 4096 });
    void output.attach(pipe, 'stdout');
    let taken = 0;
    for (let i = 0; i < 100; i++) {
      taken++;
      if (!pipe.write('\n'.repeat(4096))) break;
      await settle();
    }
    assert.ok(taken < 10, String(taken));
    await clock.advance(1);
    pipe.destroy();
  });

  it('gives back every byte of both streams, whatever their lines are', async () => {
    const output = make('both');
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
    const ended = Promise.all([
      output.attach(streams.stdout, 'stdout'),
      output.attach(streams.stderr, 'stderr'),
    ]);
    const text = `${'\n'.repeat(3000)}${'x'.repeat(40_000)}\n${'ab\n'.repeat(3000)}no end`;
    streams.stdout.end(text);
    streams.stderr.end('e\n'.repeat(2000));
    await clock.advance(200);
    await ended;
    const lines = await linesOf(output);
    assert.equal(lines.filter((line) => line !== 'e\n').join(''), text);
    assert.equal(lines.filter((line) => line === 'e\n').length, 2000);
  });

  it('gives out an unfinished line when nothing comes for a while, and not before', async () => {
    const output = make('idle');
    const pipe = new PassThrough();
    void output.attach(pipe, 'stdout');
    pipe.write('one\ntw');
    await settle();
    assert.deepEqual(await linesOf(output), ['one\n']);
    await clock.advance(60);
    pipe.write('o and');
    await clock.advance(60);
    assert.deepEqual(await linesOf(output), ['one\n']);
    await clock.advance(60);
    assert.deepEqual(await linesOf(output), ['one\n', 'two and']);
  });
});

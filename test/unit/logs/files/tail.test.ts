import assert from 'node:assert/strict';
import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { LogLine } from '../../../../src/logs/files/log.ts';
import { type LogFileReader, openLogReader } from '../../../../src/logs/files/reader.ts';
import type { LogTail } from '../../../../src/logs/files/tail.ts';
import { LogBench, log } from '../../../support/log-bench.ts';

let bench: LogBench;
let reader: LogFileReader;
let written = 0;
beforeEach(() => {
  bench = new LogBench({ writer: { segmentBytes: 2_000 } });
  reader = openLogReader({ dir: bench.dir, reader: bench.index.reader });
  written = 0;
});
afterEach(async () => {
  await bench.writer.close();
  bench.remove();
});

function write(count: number): void {
  const lines = Array.from({ length: count }, () => {
    const bytes = Buffer.from(`line ${String(++written)}\n`);
    return { atMs: 1, stream: 'stdout' as const, bytes };
  });
  bench.writer.append(log, lines);
}

function tail(): LogTail {
  const made = reader.tail(log);
  assert.ok(made);
  return made;
}

const texts = (lines: LogLine[] | undefined): string[] | undefined =>
  lines?.map((line) => Buffer.from(line.bytes).toString());
const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `line ${String(from + i)}\n`);

describe('LogTail.take()', () => {
  it('gives each new line once, over the ends of segments, whatever is asked for at a time', () => {
    write(3);
    const one = tail();
    let from = 4;
    for (const count of [1, 40, 7, 200, 2]) {
      write(count);
      for (let to = from; from <= written; from = to) {
        to = Math.min(written + 1, from + 33);
        assert.deepEqual(texts(one.take(from, to)), numbered(from, to));
      }
    }
    assert.ok(readdirSync(join(bench.dir, 'app-app_one')).length > 2);
    assert.deepEqual(one.take(from, from), []);
  });

  it('gives nothing when it is asked for other lines than those behind its own', () => {
    write(3);
    const one = tail();
    write(3);
    assert.equal(one.take(3, 5), undefined);
    assert.equal(one.take(5, 6), undefined);
  });

  it('gives nothing that was not written as a whole', () => {
    write(3);
    const one = tail();
    const [file] = readdirSync(join(bench.dir, 'app-app_one'));
    appendFileSync(join(bench.dir, 'app-app_one', file ?? ''), 'GLB1 and then no more');
    assert.equal(one.take(4, 5), undefined);
  });

  it('gives nothing when more was written than is worth to be read at once', () => {
    write(1);
    const one = tail();
    const big = { atMs: 1, stream: 'stdout' as const, bytes: Buffer.alloc(1_100_000) };
    bench.writer.append(log, [big]);
    assert.equal(one.take(2, 3), undefined);
    assert.equal(tail().take(3, 3)?.length, 0);
  });

  it('gives nothing of a log that was dropped, nor of the next one of its name', async () => {
    write(3);
    const one = tail();
    await bench.writer.drop(log);
    assert.equal(reader.tail(log), undefined);
    write(9);
    assert.equal(one.take(4, 6), undefined);
    assert.notEqual(tail().generation, one.generation);
  });
});

describe('log reader', () => {
  it('sees the next log of a name although the index still names the files of the last', async () => {
    write(500);
    await bench.writer.sync(log);
    const before = reader.range(log);
    bench.index.failure = new Error('not now');
    await bench.writer.drop(log);
    assert.equal(reader.range(log), undefined);
    written = 0;
    write(5);
    const range = reader.range(log);
    assert.notEqual(range?.generation, before?.generation);
    assert.equal(range?.nextOffset, 6);
    assert.deepEqual(texts(reader.read(log, 1, 10).lines), numbered(1, 6));
    bench.index.failure = undefined;
  });
});

import assert from 'node:assert/strict';
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { parseCursor } from '../../src/protocol/sse.ts';
import { LogFiles } from '../../src/logs/files/reader.ts';
import { eventually } from '../support/eventually.ts';
import { LogBench, MemoryDriver, log } from '../support/log-bench.ts';
import { MemorySink } from '../support/memory-sink.ts';

// The timers under test keep no process alive.
let alive: NodeJS.Timeout;
before(() => {
  alive = setInterval(() => undefined, 1e6);
});
after(() => {
  clearInterval(alive);
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('print' as const), lines: fc.nat(40) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), writes: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reconnect' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), tear: fc.nat(90) }) },
);

/** A kill in the middle of a write leaves any beginning of the last block behind. */
function tear(dir: string, bytes: number): void {
  const folder = join(dir, 'app-app_one');
  const last = readdirSync(folder).sort().at(-1);
  if (last === undefined) return;
  const size = statSync(join(folder, last)).size;
  truncateSync(join(folder, last), Math.max(0, size - bytes));
}

describe('log streams', () => {
  it('show every line once and in order, whatever is read, resumed, crashed and torn', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const bench = new LogBench({
          writer: { segmentBytes: 1_500 },
          streams: { ringBytes: 3_000, syncMs: 1e6 },
        });
        const driver = new MemoryDriver();
        driver.batch = 7;
        let stop = new AbortController();
        let feed = bench.streams.feed(log, driver, 'one-1', stop.signal);
        let sink = new MemorySink();
        let viewer = bench.open(
          { start: { after: undefined, tail: 5_000, sinceMinutes: undefined } },
          sink,
        );
        let text = '';
        let lastId = '';
        let printed = 0;
        const leave = (): void => {
          viewer.left();
          text += sink.text;
          lastId = sink.lastId || lastId;
        };
        const connect = (): void => {
          sink = new MemorySink();
          const start = { after: parseCursor(lastId), tail: 5_000, sinceMinutes: undefined };
          viewer = bench.open({ start }, sink);
        };
        for (const now of steps) {
          switch (now.do) {
            case 'print':
              for (let i = 0; i < now.lines; i++) driver.print(`line ${String(++printed)}\n`);
              break;
            case 'read':
              sink.drain(now.writes);
              break;
            case 'turn':
              await new Promise((resolve) => setImmediate(resolve));
              break;
            case 'reconnect':
              leave();
              connect();
              break;
            case 'crash': {
              leave();
              const range = bench.writer.range(log);
              stop.abort();
              driver.acknowledge = () => undefined;
              await feed;
              const shown = parseCursor(lastId)?.offset ?? 0;
              // What a client has seen was whole in the file before: only a block behind that,
              // of at most one batch, may be torn.
              const unseen = (range?.nextOffset ?? 0) - 1 - shown;
              if (unseen >= driver.batch) tear(bench.dir, now.tear);
              bench.reopen();
              stop = new AbortController();
              feed = bench.streams.feed(log, driver, 'one-1', stop.signal);
              connect();
              break;
            }
          }
        }
        sink.drain();
        driver.end();
        await feed;
        const expected = Array.from({ length: printed }, (_, i) => `line ${String(i + 1)}\n`).join(
          '',
        );
        sink.drain();
        await eventually('all lines', () => text.length + sink.text.length >= expected.length);
        assert.equal(text + sink.text, expected);
        const reader = new LogFiles(bench.dir);
        const stored = reader.read(log, 1, 1e6, 1e9).lines;
        assert.equal(stored.map((line) => Buffer.from(line.bytes).toString()).join(''), expected);
        leave();
        await bench.writer.close();
        bench.remove();
      }),
      { numRuns: 60 },
    );
  });
});

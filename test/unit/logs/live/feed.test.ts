import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { eventually } from '../../../support/eventually.ts';
import { LogBench, MemoryDriver, log } from '../../../support/log-bench.ts';
import type { BenchOptions } from '../../../support/log-bench.ts';

let bench: LogBench;
const make = (options?: BenchOptions) => (bench = new LogBench(options));
// The timers under test keep no process alive.
let alive: NodeJS.Timeout;
beforeEach(() => {
  alive = setInterval(() => undefined, 1e6);
});
afterEach(() => {
  clearInterval(alive);
  bench.remove();
});
const stored = () =>
  bench.writer
    .read(log, 1, 1e6, 1e9)
    .lines.map((line) => Buffer.from(line.bytes).toString())
    .join('');
const never = new AbortController().signal;

describe('feed()', () => {
  it('stores every entry, acknowledges what is on disk, and resolves at the end', async () => {
    make();
    const driver = new MemoryDriver();
    driver.print('1\n', '2\n');
    const done = bench.streams.feed(log, driver, 'one-1', never);
    driver.print('3\n');
    driver.end();
    await done;
    assert.equal(stored(), '1\n2\n3\n');
    assert.equal(driver.acknowledgedSeq, 3);
    assert.equal(bench.streams.stats().feeds, 0);
  });

  it('goes on behind what an earlier process stored, and acknowledges that too', async () => {
    make({ streams: { syncMs: 1e6 } });
    const driver = new MemoryDriver();
    driver.print('1\n', '2\n');
    void bench.streams.feed(log, driver, 'one-1', never);
    await eventually('two lines', () => stored() === '1\n2\n');
    assert.equal(driver.acknowledgedSeq, 0);
    bench.reopen();
    driver.end();
    await bench.streams.feed(log, driver, 'one-1', never);
    assert.equal(stored(), '1\n2\n');
    assert.equal(driver.acknowledgedSeq, 2);
  });

  it('stores what two places tell under one id, whichever numbers are higher', async () => {
    make();
    const [one, two] = [new MemoryDriver(), new MemoryDriver()];
    one.print('1\n', '2\n', '3\n');
    const both = [bench.streams.feed(log, one, 'access:app_one', never)];
    await eventually('three lines', () => stored() === '1\n2\n3\n');
    two.print('4\n');
    both.push(bench.streams.feed(log, two, 'access:app_one', never, 'access:app_one@srv_two'));
    await eventually('the other', () => stored() === '1\n2\n3\n4\n');
    one.end();
    two.end();
    await Promise.all(both);
    assert.deepEqual([one.acknowledgedSeq, two.acknowledgedSeq], [3, 1]);
  });

  it('follows a workload once, however often it is asked', async () => {
    make();
    const driver = new MemoryDriver();
    const stop = new AbortController();
    const first = bench.streams.feed(log, driver, 'one-1', stop.signal);
    const second = bench.streams.feed(log, driver, 'one-1', never);
    driver.print('1\n');
    await eventually('a line', () => stored() === '1\n');
    stop.abort();
    await first;
    driver.print('2\n');
    driver.end();
    await second;
    assert.equal(stored(), '1\n2\n');
  });

  it('lets two workloads feed one log at a time', async () => {
    make();
    const [old, fresh] = [new MemoryDriver(), new MemoryDriver()];
    const both = [
      bench.streams.feed(log, old, 'one-1', never),
      bench.streams.feed(log, fresh, 'two-1', never),
    ];
    for (let i = 0; i < 10; i++) {
      old.print('old\n');
      fresh.print('new\n');
      await eventually('both lines', () => stored().length === (i + 1) * 8);
    }
    old.end();
    fresh.end();
    await Promise.all(both);
    assert.equal(bench.writer.lastSeq(log, 'one-1'), 10);
    assert.equal(bench.writer.lastSeq(log, 'two-1'), 10);
  });

  it('makes the source wait while the disk is full, says it once, and loses nothing', async () => {
    let full = false;
    make({
      writer: {
        writeSync: (fd, bytes, from, length) => {
          if (full) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
          appendFileSync(fd, bytes.subarray(from, from + length));
          return length;
        },
      },
    });
    const driver = new MemoryDriver();
    driver.print('1\n');
    const done = bench.streams.feed(log, driver, 'one-1', never);
    await eventually('a line', () => driver.acknowledgedSeq === 1);
    full = true;
    driver.print('2\n');
    const failures = () => bench.logger.events.filter((e) => e.event === 'log_append_failed');
    await eventually('the failure', () => failures().length === 1);
    driver.print('3\n');
    assert.equal(driver.acknowledgedSeq, 1);
    assert.equal(bench.streams.stats().storageFailures, 1);
    full = false;
    driver.end();
    await done;
    assert.equal(stored(), '1\n2\n3\n');
    assert.equal(failures().length, 1);
  });

  it('stores nothing behind entries it had to let go', async () => {
    make({
      writer: {
        writeSync: () => {
          throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
        },
      },
    });
    const driver = new MemoryDriver();
    const stop = new AbortController();
    driver.print('1\n', '2\n');
    const done = bench.streams.feed(log, driver, 'one-1', stop.signal);
    await eventually('the failure', () => bench.streams.stats().storageFailures === 1);
    stop.abort();
    await done;
    assert.equal(driver.acknowledgedSeq, 0);
    assert.equal(stored(), '');
  });

  it('tries again when the driver fails, and gives up when the workload is unknown', async () => {
    make();
    const driver = new MemoryDriver();
    let failures = 1;
    const follow = driver.follow.bind(driver);
    driver.follow = (...parameters) =>
      failures-- > 0 ? Promise.reject(new Error('not connected')) : follow(...parameters);
    driver.print('1\n');
    driver.end();
    await bench.streams.feed(log, driver, 'one-1', never);
    assert.equal(stored(), '1\n');
    driver.follow = () => Promise.reject(new ServiceError('NOT_FOUND', 'No such workload.'));
    await bench.streams.feed(log, driver, 'two-1', never);
  });

  it('ends its feeds before a log is dropped', async () => {
    make();
    const driver = new MemoryDriver();
    driver.print('1\n');
    const done = bench.streams.feed(log, driver, 'one-1', never);
    await eventually('a line', () => stored() === '1\n');
    await bench.streams.drop(log);
    await done;
    driver.print('2\n');
    assert.equal(bench.writer.range(log), undefined);
  });
});

describe('write()', () => {
  it('stores each line, ends the last one, and cuts very long ones', () => {
    make();
    bench.streams.write(log, 'one\n\ntwo');
    bench.streams.write(log, `${'x'.repeat(20_000)}\n`);
    const { lines } = bench.writer.read(log, 1, 100);
    assert.deepEqual(
      lines.map((line) => line.bytes.length),
      [4, 1, 4, 16_384, 3_617],
    );
    assert.equal(lines[0]?.stream, 'system');
  });
});

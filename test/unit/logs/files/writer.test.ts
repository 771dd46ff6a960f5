import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../../src/lib/clock.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { LogName, LogReader } from '../../../../src/logs/files/log.ts';
import { LogFiles } from '../../../../src/logs/files/reader.ts';
import { LogWriter, type LogWriterOptions } from '../../../../src/logs/files/writer.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';

const log: LogName = 'app:app_one';
let dir: string;
let nowMs = 1_000_000;
const clock: Clock = {
  now: () => nowMs,
  after: () => () => undefined,
};

const open = (options: Partial<LogWriterOptions> = {}) =>
  new LogWriter({
    dir,
    logger: memoryLogger(),
    clock,
    segmentBytes: 4_096,
    ...options,
  });

const line = (text: string, atMs = nowMs) => ({
  atMs,
  stream: 'stdout' as const,
  bytes: Buffer.from(text),
});
const lines = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => line(`line ${String(from + i)}\n`));
const texts = (reader: LogReader, from: number, limit = 1e6) =>
  reader.read(log, from, limit, 1e9).lines.map((l) => Buffer.from(l.bytes).toString());
const logFiles = () => readdirSync(join(dir, 'app-app_one')).sort();

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'logs-'));
  nowMs = 1_000_000;
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

describe('log writer', () => {
  it('writes what feeds append from one buffer, of any log', async () => {
    const written = new Set<ArrayBufferLike>();
    const writer = open({
      writeSync: (fd, bytes, from, length) => {
        if (bytes.toString('latin1', 0, 4) === 'GLB1') written.add(bytes.buffer);
        return writeSync(fd, bytes, from, length);
      },
    });
    const entry = 'x'.repeat(16 * 1024);
    for (const name of [log, 'app:app_two', log] as const) {
      writer.append(
        name,
        [1, 2, 3, 4].map(() => line(entry)),
      );
    }
    assert.equal(written.size, 1);
    // What no feed makes is written, too.
    writer.append(log, Array(8).fill(line(entry)));
    assert.equal(written.size, 2);
    assert.deepEqual(texts(writer, 1), Array(16).fill(entry));
    await writer.close();
  });

  it('reads back what was appended, over many segments, from any offset', async () => {
    const writer = open();
    for (let i = 1; i <= 500; i += 5) assert.equal(writer.append(log, lines(5, i)), i);
    assert.ok(logFiles().length > 3);
    for (const from of [1, 2, 77, 499, 500]) {
      const slice = writer.read(log, from, 1_000, 1e9);
      assert.equal(slice.gap, 0);
      assert.equal(slice.nextOffset, 501);
      assert.equal(slice.lines[0]?.offset, from);
      assert.equal(slice.lines.length, 501 - from);
      assert.equal(Buffer.from(slice.lines[0].bytes).toString(), `line ${String(from)}\n`);
    }
    assert.deepEqual(texts(writer, 501), []);
    assert.deepEqual(texts(writer, 10, 2), ['line 10\n', 'line 11\n']);
    assert.equal(writer.read(log, 1, 1_000, 60).lines.length, 9);
    await writer.close();
  });

  it('keeps offsets, generation and last entries over a restart without a close', () => {
    const first = open();
    first.append(log, lines(3), { id: 'one-1', seq: 3 });
    first.append(log, lines(100, 4), { id: 'two-1', seq: 90 });
    const before = first.range(log);
    const second = open();
    assert.deepEqual(second.range(log), before);
    assert.equal(second.lastSeq(log, 'one-1'), 3);
    assert.equal(second.lastSeq(log, 'two-1'), 90);
    assert.equal(second.lastSeq(log, 'other'), 0);
    assert.equal(second.append(log, lines(1, 104)), 104);
    assert.equal(texts(second, 1).length, 104);
  });

  it('carries the last entry of a source over full segments and retention', async () => {
    const writer = open();
    writer.append(log, lines(1), { id: 'old-1', seq: 7 });
    for (let i = 2; i < 600; i++) writer.append(log, lines(1, i), { id: 'new-1', seq: i });
    await writer.retain({ maxAgeMs: 1e9, quotaBytes: 5_000 });
    assert.ok((writer.range(log)?.firstOffset ?? 0) > 100);
    const again = open();
    assert.equal(again.lastSeq(log, 'old-1'), 7);
    assert.equal(again.lastSeq(log, 'new-1'), 599);
  });

  it('finds the last lines of one source before a time, on this thread and on others', async () => {
    const writer = open();
    for (let i = 1; i <= 200; i++) {
      nowMs = 1_000 * i;
      writer.append(log, [line(`mine ${String(i)}\n`)], { id: 'mine', seq: i });
      writer.append(log, lines(2, i), { id: 'other', seq: i });
      writer.append(log, [{ ...line('ours\n'), stream: 'system' }]);
    }
    const other = new LogFiles(dir);
    for (const reader of [writer, other]) {
      const last = (beforeMs: number, count: number): string[] =>
        reader.lastOf(log, 'mine', beforeMs, count).map((l) => Buffer.from(l.bytes).toString());
      assert.deepEqual(last(1e9, 2), ['mine 199\n', 'mine 200\n']);
      assert.deepEqual(last(150_001, 3), ['mine 148\n', 'mine 149\n', 'mine 150\n']);
      assert.deepEqual(last(1_000, 3), []);
      assert.equal(last(1e9, 1_000).length, 200);
      assert.deepEqual(reader.lastOf(log, 'nobody', 1e9, 9), []);
      assert.deepEqual(reader.lastOf('app:none', 'mine', 1e9, 9), []);
    }
    await writer.close();
  });

  it('cuts off a torn block, whatever of it was written, and goes on behind the last whole one', () => {
    const writer = open({ segmentBytes: 1e6 });
    writer.append(log, lines(4), { id: 'a-1', seq: 4 });
    const path = join(dir, 'app-app_one', logFiles()[0] ?? '');
    const wholeBytes = statSync(path).size;
    writer.append(log, lines(4, 5), { id: 'a-1', seq: 8 });
    const bothBytes = statSync(path).size;
    for (let size = bothBytes - 1; size >= wholeBytes; size -= 7) {
      truncateSync(path, size);
      const again = open({ segmentBytes: 1e6 });
      assert.equal(again.range(log)?.nextOffset, 5);
      assert.equal(again.lastSeq(log, 'a-1'), 4);
      assert.equal(statSync(path).size, wholeBytes);
      assert.equal(again.append(log, lines(4, 5), { id: 'a-1', seq: 8 }), 5);
      assert.deepEqual(texts(open({ segmentBytes: 1e6 }), 4, 3), [
        'line 4\n',
        'line 5\n',
        'line 6\n',
      ]);
    }
  });

  it('removes a segment whose header was torn', () => {
    open().append(log, lines(2));
    const name = logFiles()[0] ?? '';
    appendFileSync(join(dir, 'app-app_one', name.replace(/\d{16}/, '0000000000000003')), 'GLS');
    const again = open();
    assert.equal(again.append(log, lines(1, 3)), 3);
    assert.equal(texts(again, 1).length, 3);
  });

  it('measures segments that it does not hold open by their files', async () => {
    const first = open();
    for (let i = 1; i <= 200; i++) first.append(log, lines(1, i));
    await first.close();
    const [oldest = '', ...younger] = logFiles();
    for (const name of logFiles()) {
      const atMs = name === oldest ? nowMs - 10_000 : nowMs;
      utimesSync(join(dir, 'app-app_one', name), atMs / 1000, atMs / 1000);
    }
    const again = open();
    await again.retain({ maxAgeMs: 5_000, quotaBytes: 1e9 });
    assert.deepEqual(logFiles(), younger);
    await again.retain({ maxAgeMs: 1e9, quotaBytes: 1 });
    assert.deepEqual(logFiles(), younger.slice(-1));
  });

  it('drops whole segments by age and by quota and tells the gap', async () => {
    const writer = open();
    for (let i = 1; i <= 200; i++) writer.append(log, lines(1, i));
    nowMs += 10_000;
    for (let i = 201; i <= 400; i++) writer.append(log, lines(1, i));
    await writer.retain({ maxAgeMs: 5_000, quotaBytes: 1e9 });
    const first = writer.range(log)?.firstOffset ?? 0;
    assert.ok(first > 1 && first <= 201);
    const slice = writer.read(log, 1, 1);
    assert.equal(slice.gap, first - 1);
    assert.equal(slice.lines[0]?.offset, first);
    await writer.retain({ maxAgeMs: 1e9, quotaBytes: 1 });
    assert.equal(logFiles().length, 1);
  });

  it('keeps the offsets of an app whose lines are all too old, and forgets such a build', async () => {
    const writer = open();
    writer.append(log, lines(3), { id: 'a-1', seq: 3 });
    writer.append('build:dpl_1', lines(3));
    nowMs += 10_000;
    await writer.sync(log);
    await writer.retain({ maxAgeMs: 5_000, quotaBytes: 1e9 });
    assert.deepEqual(writer.read(log, 1, 10), { lines: [], gap: 3, nextOffset: 4 });
    assert.equal(open().lastSeq(log, 'a-1'), 3);
    assert.equal(writer.append(log, lines(1, 4)), 4);
    assert.equal(writer.range('build:dpl_1'), undefined);
    assert.deepEqual(readdirSync(dir), ['app-app_one']);
  });

  it('starts a new generation after a drop', async () => {
    const writer = open();
    writer.append(log, lines(3));
    const before = writer.range(log)?.generation ?? '';
    await writer.drop(log);
    assert.equal(writer.range(log), undefined);
    nowMs += 1;
    assert.equal(writer.append(log, lines(1)), 1);
    assert.ok((writer.range(log)?.generation ?? '') > before);
  });

  it('leaves nothing of an append that the disk refused and takes the next one', () => {
    let room = Infinity;
    const writer = open({
      segmentBytes: 1e6,
      writeSync: (fd, bytes, from, length) => {
        const taken = Math.min(length, room);
        room -= taken;
        if (taken === 0) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
        appendFileSync(fd, bytes.subarray(from, from + taken));
        return taken;
      },
    });
    writer.append(log, lines(2));
    room = 70;
    assert.throws(
      () => writer.append(log, lines(2, 3)),
      (error) => error instanceof ServiceError && error.code === 'STORAGE_FULL',
    );
    assert.equal(writer.range(log)?.nextOffset, 3);
    room = Infinity;
    assert.equal(writer.append(log, lines(1, 3)), 3);
    assert.deepEqual(texts(open(), 1), ['line 1\n', 'line 2\n', 'line 3\n']);
  });

  it('finds the first line at or after a time', () => {
    const writer = open();
    for (let i = 1; i <= 300; i++)
      writer.append(log, [line(`line ${String(i)}\n`, 1_000 + i * 10)]);
    for (const reader of [writer, new LogFiles(dir), open()]) {
      assert.equal(reader.offsetAt(log, 0), 1);
      assert.equal(reader.offsetAt(log, 1_010), 1);
      assert.equal(reader.offsetAt(log, 1_011), 2);
      assert.equal(reader.offsetAt(log, 2_500), 150);
      assert.equal(reader.offsetAt(log, 9_999), 301);
    }
  });

  it('closes the logs unused for longest and opens them again when needed', async () => {
    const writer = open({ openMax: 2 });
    const names = [1, 2, 3, 4, 5].map((i): LogName => `app:app_${String(i)}`);
    for (const round of [1, 2, 3]) {
      for (const name of names) {
        assert.equal(writer.append(name, lines(1)), round);
        await writer.sync(name);
      }
    }
    await writer.close();
  });

  it('refuses a name that would leave the folder of the logs', () => {
    assert.throws(() => open().append('app:../x', lines(1)), /Cannot name the folder/);
  });
});

describe('log reader', () => {
  it('sees appends at once, also in new segments', () => {
    const writer = open();
    const reader = new LogFiles(dir, 2);
    assert.equal(reader.range(log), undefined);
    for (let i = 1; i <= 300; i++) {
      writer.append(log, lines(1, i));
      assert.deepEqual(reader.range(log), writer.range(log));
      if (i % 50 === 0) assert.equal(texts(reader, 1).length, i);
    }
  });

  it('follows a growing log from a worker thread and gets every line once, in order', async () => {
    const total = 3_000;
    const module = new URL('../../../../src/logs/files/reader.ts', import.meta.url).href;
    const source = `
      const { parentPort } = require('node:worker_threads');
      import(${JSON.stringify(module)}).then(({ LogFiles }) => {
        const reader = new LogFiles(${JSON.stringify(dir)});
        let from = 1;
        const poll = () => {
          const slice = reader.read('app:app_one', from, 100);
          for (const line of slice.lines) {
            const text = Buffer.from(line.bytes).toString();
            if (text !== 'line ' + line.offset + '\\n' || line.offset !== from++) {
              return parentPort.postMessage('wrong: ' + text);
            }
          }
          if (from > ${String(total)}) parentPort.postMessage('complete');
          else setImmediate(poll);
        };
        parentPort.postMessage('ready');
        poll();
      });`;
    const worker = new Worker(source, { eval: true });
    const answer = await new Promise((resolve, reject) => {
      const writer = open({ segmentBytes: 16_384 });
      let next = 1;
      const append = (): void => {
        writer.append(log, lines(5, next));
        next += 5;
        if (next <= total) setImmediate(append);
      };
      worker.on('error', reject);
      worker.on('message', (message) => {
        if (message === 'ready') append();
        else resolve(message);
      });
    });
    await worker.terminate();
    assert.equal(answer, 'complete');
  });
});

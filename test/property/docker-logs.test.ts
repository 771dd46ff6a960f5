import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { FrameReader, RawLogReader } from '../../src/drivers/docker/logs/stream-frames.ts';
import type { Frame } from '../../src/drivers/docker/logs/stream-frames.ts';
import { LogReading, timed } from '../../src/drivers/docker/logs/log-cursor.ts';
import type { TimedFrame } from '../../src/drivers/docker/logs/log-cursor.ts';
import type { LogEntry } from '../../src/protocol/workload.ts';

function framed({ stream, bytes }: Frame): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream === 'stdout' ? 1 : 2;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

/** Any bytes in pieces that end at any places. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end));
}

const streams = fc.constantFrom<('stdout' | 'stderr')[]>('stdout', 'stderr');
const frame = fc.record(
  { stream: streams, bytes: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  { noNullPrototype: true },
);
const frames = fc.array(frame, { maxLength: 30 });
const cuts = fc.array(fc.nat(5000), { maxLength: 20 });

/** A time within some seconds of a day; few of them, so that many entries share one. */
const timeAt = (step: number): string =>
  `2026-01-01T00:00:${String(Math.floor(step / 4)).padStart(2, '0')}.${String(step % 4).padEnd(9, '0')}Z`;

const piece = Buffer.alloc(16 * 1024, 'x');
/** A line; a long one, of so many pieces and a rest, has its time for itself. */
const line = fc.record({
  stream: streams,
  step: fc.nat(1),
  text: fc.constantFrom('a\n', 'b\n', '\n'),
  long: fc.constantFrom(0, 0, 0, 1, 2),
});
/** A log as the daemon keeps it: times do not go back, and no line comes twice at one. */
const logs = fc.array(line, { minLength: 1, maxLength: 60 }).map((lines) => {
  let now = 0;
  const log = lines.flatMap(({ stream, step, text, long }): TimedFrame[] => {
    now += long > 0 ? 1 : step;
    const time = timeAt(now);
    if (long > 0) now++;
    const pieces = Array.from({ length: long }, () => piece);
    return [...pieces, Buffer.from(text)].map((bytes) => ({ stream, time, bytes }));
  });
  const isSame = (a: TimedFrame, b: TimedFrame): boolean =>
    a.stream === b.stream && a.time === b.time && a.bytes.equals(b.bytes);
  return log.filter(
    (frame, at) => frame.bytes === piece || log.findIndex((one) => isSame(one, frame)) === at,
  );
});

/** Where the daemon begins anew, and how far it comes then. */
const jumps = fc.array(fc.tuple(fc.nat(60), fc.nat(60)));

/** Enough of an entry to know it by. */
function shortOf(entry: ReturnType<LogReading['take']>): unknown {
  if (entry === null || entry === 'passed') return entry;
  const { seq, atMs, stream, bytes } = entry;
  return `${String(seq)} ${String(atMs)} ${stream} ${String(bytes.length)} ${String(bytes[0])}`;
}

describe('the output of a container', () => {
  it('gives the same frames however it is split', () => {
    fc.assert(
      fc.property(frames, cuts, (given, at) => {
        const reader = new FrameReader();
        const read = pieces(Buffer.concat(given.map(framed)), at).flatMap((piece) =>
          reader.push(piece).map(({ stream, bytes }) => ({ stream, bytes: Buffer.from(bytes) })),
        );
        assert.deepEqual(read, given);
      }),
    );
  });

  it('gives the same lines of a terminal however it is split', () => {
    const line = fc.uint8Array({ maxLength: 30 }).map((b) => Buffer.from(b.map((x) => x | 32)));
    fc.assert(
      fc.property(fc.array(line), cuts, (lines, at) => {
        const whole = lines.map((text) =>
          Buffer.concat([Buffer.from(`${timeAt(1)} `), text, Buffer.of(10)]),
        );
        const reader = new RawLogReader();
        const read = pieces(Buffer.concat(whole), at).flatMap((piece) =>
          reader.push(piece).map(({ bytes }) => Buffer.from(bytes)),
        );
        assert.deepEqual(read, whole);
      }),
    );
  });

  it('keeps entries of a terminal apart that end in no line, however it is split', () => {
    const ends = fc.constantFrom('\n', '\r\n', '');
    const piece = fc.constantFrom('', 'x'.repeat(16 * 1024 - 1), 'x'.repeat(16 * 1024 - 20));
    const text = fc.tuple(fc.string({ maxLength: 20 }), piece);
    fc.assert(
      fc.property(fc.array(fc.tuple(text, ends), { maxLength: 8 }), cuts, (lines, at) => {
        const entries = lines.map(([[word, long], end], index) => {
          const line = `${word.replaceAll('\n', ' ')}${long}${end}`;
          // As the daemon cuts it: the rest would be another entry.
          return Buffer.from(`${timeAt(index)} `.concat(line.slice(0, 16 * 1024)), 'latin1');
        });
        const reader = new RawLogReader();
        const read = pieces(Buffer.concat(entries), at).flatMap((chunk) =>
          reader.push(chunk).map(({ bytes }) => Buffer.from(bytes)),
        );
        read.push(...reader.end().map(({ bytes }) => Buffer.from(bytes)));
        assert.deepEqual(read, entries);
      }),
    );
  });

  it('ends in an error for what has no frames', () => {
    assert.throws(() => new FrameReader().push(Buffer.from('plain text, no frames')), RangeError);
    assert.throws(() => timed({ stream: 'stdout', bytes: Buffer.from('no time') }), RangeError);
  });
});

describe('the numbers of log entries', () => {
  it('stay in a reading that is taken up again anywhere', () => {
    fc.assert(
      fc.property(logs, fc.nat(100), (log, at) => {
        const whole = new LogReading(null);
        const stop = at % log.length;
        const entries = log.map((frame, index) => {
          const entry = whole.take(frame);
          return { entry, position: index === stop ? whole.position() : null };
        });
        const { position } = entries[stop] ?? {};
        assert.ok(position);
        const again = new LogReading(position);
        // The daemon leaves out what is older than it is asked for.
        const since = Number(again.since) * 1000;
        const kept = log.filter(({ time }) => Date.parse(time) >= since - 1);
        const rest = kept.flatMap((frame) => {
          const entry = again.take(frame);
          assert.notEqual(entry, 'passed');
          return entry === null || entry === 'passed' ? [] : [entry];
        });
        assert.deepEqual(
          rest.map(shortOf),
          entries.slice(stop + 1).map(({ entry }) => shortOf(entry)),
        );
      }),
    );
  });

  it('are those of the file also when the daemon begins it anew while it is followed', () => {
    fc.assert(
      fc.property(logs, jumps, fc.boolean(), (both, begun, ofOne) => {
        // Pieces are told apart by what came before on their own output.
        const log = both.filter(({ stream, bytes }) =>
          ofOne ? stream === 'stdout' : bytes !== piece,
        );
        const whole = new LogReading(null);
        const entries = log.map((frame) => whole.take(frame));
        // A file that began with a piece, and has nothing else yet, could not be told from its end.
        const begins = log.flatMap(({ bytes }, at) => (bytes === piece ? [] : [at]));
        const once = new LogReading(null);
        const read: ReturnType<LogReading['take']>[] = [];
        let end = 0;
        const follow = (from: number, to: number): void => {
          read.push(...log.slice(from, to).flatMap((frame) => once.take(frame) ?? []));
          end = Math.max(end, to);
        };
        for (const [begin, length] of begun) {
          const from = begins[begin % begins.length] ?? 0;
          // Back to what was told, and on, also to what was not.
          if (from <= end) follow(from, Math.min(log.length, from + length));
        }
        follow(end, log.length);
        assert.deepEqual(read.map(shortOf), entries.map(shortOf));
      }),
    );
  });

  it('go on with a clock that was set back, once that is no repetition', () => {
    const reading = new LogReading(null);
    const seqAt = (step: number, nowMs: number): number | null => {
      const bytes = Buffer.from(`${String(step)}\n`);
      const entry = reading.take({ stream: 'stdout', time: timeAt(step), bytes }, nowMs);
      assert.notEqual(entry, 'passed');
      return (entry as LogEntry | null)?.seq ?? null;
    };
    const seqs = [seqAt(90, 0), seqAt(10, 1000), seqAt(20, 60_999), seqAt(30, 61_000)];
    assert.deepEqual([...seqs, seqAt(31, 61_001)], [1, null, null, 2, 3]);
  });

  it('go on behind a place that is gone', () => {
    const first = new LogReading(null);
    first.take({ stream: 'stdout', time: timeAt(0), bytes: Buffer.from('gone\n') });
    const from = first.position();
    const seeking = new LogReading(from);
    const newer = { stream: 'stdout', time: timeAt(12), bytes: Buffer.from('x\n') } as const;
    assert.equal(seeking.take(newer), 'passed');
    const lost = new LogReading(from, true);
    assert.equal((lost.take(newer) as { seq: number }).seq, 2);
    assert.equal(lost.since, `${String(Date.parse('2026-01-01T00:00:00Z') / 1000)}.000000001`);
  });

  it('give a long line its end back, once', () => {
    const piece = Buffer.alloc(16 * 1024, 'x');
    const log: TimedFrame[] = [
      { stream: 'stdout', time: timeAt(0), bytes: piece },
      { stream: 'stderr', time: timeAt(1), bytes: Buffer.from('between') },
      { stream: 'stdout', time: timeAt(0), bytes: Buffer.from('rest') },
      { stream: 'stdout', time: timeAt(2), bytes: Buffer.from('next\n') },
      { stream: 'stdout', time: timeAt(3), bytes: Buffer.from('no end') },
    ];
    const reading = new LogReading(null);
    const texts = log.map((frame) => {
      const entry = reading.take(frame);
      assert.ok(entry && entry !== 'passed');
      return Buffer.from(entry.bytes).toString();
    });
    assert.deepEqual(texts.slice(1), ['between', 'rest\n', 'next\n', 'no end']);
  });
});

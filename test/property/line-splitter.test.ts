import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { LineSplitter } from '../../src/programs/runner/line-splitter.ts';
import { decodeRecords, entryMaxBytes, scanRecords } from '../../src/protocol/log-records.ts';
import type { LogEntry } from '../../src/protocol/workload.ts';

const chunks = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => new TextEncoder().encode(text)),
    fc
      .constantFrom('\n', '\n\n', 'line\n', 'ä'.repeat(9000), 'x'.repeat(entryMaxBytes))
      .map((text) => new TextEncoder().encode(text)),
  ),
  { maxLength: 30 },
);

function split(pieces: readonly Uint8Array[]): LogEntry[] {
  const splitter = new LineSplitter('stderr');
  const entries: LogEntry[] = [];
  const take = ({ records, count }: { records: Buffer; count: number }): void => {
    const decoded = decodeRecords(records, entries.length + 1);
    assert.equal(decoded.length, count);
    assert.deepEqual(scanRecords(records), { count, end: records.length, torn: false });
    entries.push(...decoded);
  };
  for (const piece of pieces) take(splitter.push(Buffer.from(piece), 1.5));
  take(splitter.flush(1.5));
  assert.equal(splitter.pending, false);
  return entries;
}

/** As `split`, but so many lines at a time. */
function splitByLines(pieces: readonly Uint8Array[], linesMax: number): Buffer[] {
  const splitter = new LineSplitter('stderr');
  const out: Buffer[] = [];
  const take = ({ records, count }: { records: Buffer; count: number }): void => {
    const entries = decodeRecords(records, 1);
    assert.equal(entries.length, count);
    out.push(...entries.map(({ bytes }) => Buffer.from(bytes)));
  };
  for (const piece of pieces) {
    let rest = Buffer.from(piece);
    while (rest.length > 0) {
      const taken = splitter.push(rest, 1.5, linesMax);
      assert.ok(taken.used > 0 && (taken.count >= linesMax || taken.used === rest.length));
      take(taken);
      rest = rest.subarray(taken.used);
    }
  }
  take(splitter.flush(1.5));
  return out;
}

describe('LineSplitter', () => {
  it('gives out every byte once and in order, however it is cut', () => {
    fc.assert(
      fc.property(chunks, (pieces) => {
        const entries = split(pieces);
        const out = Buffer.concat(entries.map((entry) => entry.bytes));
        assert.ok(out.equals(Buffer.concat(pieces)));
        assert.ok(entries.every((entry) => entry.stream === 'stderr' && entry.atMs === 1.5));
      }),
    );
  });

  it('gives out the same entries some lines at a time', () => {
    fc.assert(
      fc.property(chunks, fc.integer({ min: 1, max: 5 }), (pieces, linesMax) => {
        const whole = split(pieces).map((entry) => Buffer.from(entry.bytes));
        assert.deepEqual(splitByLines(pieces, linesMax), whole);
      }),
    );
  });

  it('ends each entry behind its only newline, or at 16 KiB', () => {
    fc.assert(
      fc.property(chunks, (pieces) => {
        const entries = split(pieces);
        for (const [index, { bytes }] of entries.entries()) {
          assert.ok(bytes.length > 0 && bytes.length <= entryMaxBytes);
          const newline = bytes.indexOf(10);
          assert.ok(newline === -1 || newline === bytes.length - 1);
          const isLast = index === entries.length - 1;
          if (newline === -1 && !isLast) assert.ok(bytes.length > entryMaxBytes - 4);
        }
      }),
    );
  });

  it('gives the same entries however the bytes were cut into chunks', () => {
    fc.assert(
      fc.property(chunks, fc.array(fc.nat(50)), (pieces, cuts) => {
        const whole = Buffer.concat(pieces);
        const recut: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) {
          recut.push(whole.subarray(at, at + cut));
          at += cut;
        }
        recut.push(whole.subarray(Math.min(at, whole.length)));
        assert.deepEqual(
          split(recut).map((entry) => Buffer.from(entry.bytes)),
          split([whole]).map((entry) => Buffer.from(entry.bytes)),
        );
      }),
    );
  });
});

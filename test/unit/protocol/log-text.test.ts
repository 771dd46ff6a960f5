import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LogText, lookBackLines } from '../../../src/protocol/log-text.ts';
import type { TextLine } from '../../../src/protocol/log-text.ts';

const line = (text: string | Uint8Array, stream = 'stdout', atMs = 0): TextLine => ({
  atMs,
  stream,
  bytes: Buffer.from(text),
});

/** Text of lines as frames cut at `cuts` show it, each frame made from nothing but the lines. */
function framed(lines: readonly TextLine[], cuts: ReadonlySet<number>, timestamps: boolean) {
  let text = '';
  let from = 0;
  for (let to = 1; to <= lines.length; to++) {
    if (to !== lines.length && !cuts.has(to)) continue;
    const codec = new LogText(timestamps);
    for (const before of lines.slice(Math.max(0, from - lookBackLines), from)) codec.prime(before);
    for (const shown of lines.slice(from, to)) codec.add(shown);
    text += codec.take();
    from = to;
  }
  return text;
}

describe('LogText', () => {
  it('joins characters cut anywhere, in any frames, to the text they were', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.array(fc.nat(200)),
        fc.array(fc.nat(200)),
        (text, pieceCuts, frameCuts) => {
          const bytes = Buffer.from(`${text}\n`);
          const cuts = [...new Set(pieceCuts.map((c) => c % bytes.length))].sort((a, b) => a - b);
          const pieces = [...cuts, bytes.length].map((end, i) =>
            line(bytes.subarray(i === 0 ? 0 : cuts[i - 1], end)),
          );
          // A character of four bytes in four pieces needs the three before it: within the bound.
          assert.equal(framed(pieces, new Set(frameCuts), false), bytes.toString());
        },
      ),
    );
  });

  it('shows the same text however hostile bytes are cut into frames', () => {
    const piece = fc.record({
      bytes: fc.uint8Array({ maxLength: 6 }),
      stream: fc.constantFrom('stdout', 'stderr'),
      end: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.array(fc.nat(12)),
        fc.boolean(),
        (pieces, cuts, timestamps) => {
          const lines = pieces
            .map((p) => line(Buffer.concat([p.bytes, Buffer.from(p.end ? '\n' : '')]), p.stream))
            .filter((l) => l.bytes.length > 0);
          const whole = framed(lines, new Set(), timestamps);
          assert.equal(framed(lines, new Set(cuts), timestamps), whole);
        },
      ),
    );
  });

  it('keeps the streams apart when their pieces alternate', () => {
    const euro = Buffer.from('€');
    const lines = [
      line(euro.subarray(0, 2), 'stdout'),
      line('err\n', 'stderr'),
      line(Buffer.concat([euro.subarray(2), Buffer.from('\n')]), 'stdout'),
    ];
    assert.equal(framed(lines, new Set([1, 2]), false), 'err\n€\n');
  });

  it('never makes a character of the ends of two streams', () => {
    const lines = [line(Buffer.from([0xc2, 0xc2])), line(Buffer.from([0x80]), 'stderr')];
    for (const cuts of [[], [1]]) {
      assert.equal(framed(lines, new Set(cuts), false), '\ufffd\ufffd');
    }
  });

  it('replaces what is no UTF-8 and keeps ANSI sequences and a byte order mark', () => {
    const codec = new LogText(false);
    codec.add(line(Buffer.from([0xff, 0x41, 0xc3, 0x0a])));
    codec.add(line('\u001b[31mred\u001b[0m\n'));
    codec.add(line('\ufeffmark\n'));
    assert.equal(codec.take(), '\ufffdA\ufffd\n\u001b[31mred\u001b[0m\n\ufeffmark\n');
  });

  it('puts the time in front of each line, once for a line in pieces', () => {
    const codec = new LogText(true);
    codec.add(line('one\n', 'stdout', 1_700_000_000_123));
    codec.add(line('tw', 'stdout', 1_700_000_000_124));
    codec.add(line('o\n', 'stdout', 1_700_000_000_125));
    assert.equal(codec.take(), '2023-11-14T22:13:20.123Z one\n2023-11-14T22:13:20.124Z two\n');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { chooseLines } from '../../../../src/mcp/tools/log-lines.ts';

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `line ${String(i + 1)}`);

describe('chooseLines()', () => {
  it('takes the last lines from the end and the first from the start', () => {
    const lines = numbered(5);
    const last = chooseLines(lines, { from: 'end', linesMax: 2 });
    assert.deepEqual(last, { lines: ['line 4', 'line 5'], read: 2, left: 3, isShortened: false });
    const first = chooseLines(lines, { from: 'start', linesMax: 2 });
    assert.deepEqual(first, { lines: ['line 1', 'line 2'], read: 2, left: 3, isShortened: false });
  });

  it('reads over lines that are not sought, up to the next one that does not fit', () => {
    const choice = { from: 'start', linesMax: 1, contains: '1' } as const;
    const { lines, read, left } = chooseLines(numbered(20), choice);
    assert.deepEqual(lines, ['line 1']);
    assert.equal(read, 9, 'line 10 is the next');
    assert.equal(left, 10);
  });

  it('cuts a line that is longer than all, and says so', () => {
    const { lines, ...rest } = chooseLines(['x'.repeat(99), 'y'], {
      from: 'start',
      linesMax: 9,
      bytesMax: 22,
    });
    assert.match(lines.join(), /^x{10,20}$/);
    assert.deepEqual(rest, { read: 1, left: 1, isShortened: true });
  });

  it('stays within its bytes as JSON and reads at least one line, whatever the lines', () => {
    const lines = fc.array(fc.string({ unit: 'binary', maxLength: 60 }), { minLength: 1 });
    fc.assert(
      fc.property(lines, fc.constantFrom('start', 'end'), fc.nat(200), (given, from, more) => {
        const bytesMax = 20 + more;
        const chosen = chooseLines(given, { from, linesMax: 10, bytesMax });
        assert.ok(Buffer.byteLength(JSON.stringify(chosen.lines.join('\n'))) <= bytesMax);
        assert.ok(chosen.read >= 1);
        assert.equal(chosen.read + chosen.left, given.length);
      }),
    );
  });
});

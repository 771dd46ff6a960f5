/** The parts of the log viewer that need no browser. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { frameId, linesOf } from '../../../web/pages/log/frames.ts';
import { HeldLines, heldMax, pageLines } from '../../../web/pages/log/held-lines.ts';
import { lineParts, plainLine } from '../../../web/ui/line-parts.ts';
import { plainText } from '../../../src/protocol/plain-text.ts';

const line = (text: string) => ({ atMs: 1, text });

describe('the lines that are held', () => {
  it('are bounded by their number and by their characters, and are those near to what is shown', () => {
    for (const [text, most] of [
      ['short', heldMax],
      ['x'.repeat(64 * 1024), 600],
    ] as const) {
      const held = new HeldLines();
      const count = text === 'short' ? 400_000 : 3_000;
      held.setRange({ generation: 'g', firstOffset: 1, nextOffset: count + 1 });
      for (let offset = 1; offset <= count; offset++) {
        held.put(offset, line(text));
        if (offset % 100 === 0) held.trim(offset);
      }
      let lines = 0;
      for (let offset = 1; offset <= count; offset++) if (held.at(offset)) lines++;
      assert.ok(lines <= most + 2 * pageLines, `${lines} lines`);
      assert.ok(held.at(count) && held.at(count - 100), 'what is shown stays');
      assert.equal(held.at(1), undefined);
    }
  });

  it('say what to read of what is shown: from the first that is missing to the end of its page', () => {
    const held = new HeldLines();
    held.setRange({ generation: 'g', firstOffset: 10, nextOffset: 1_200 });
    assert.deepEqual(held.missing(0, 50), { from: 10, count: pageLines - 10 });
    for (let offset = 10; offset < 600; offset++)
      held.put(offset, offset === 20 ? null : line('a'));
    assert.equal(held.missing(0, 600), null);
    assert.deepEqual(held.missing(590, 650), { from: 600, count: 400 });
    assert.deepEqual(held.missing(1_190, 5_000), { from: 1_190, count: 10 });
  });

  it('are forgotten when the log has another generation', () => {
    const held = new HeldLines();
    const range = { generation: 'g', firstOffset: 1, nextOffset: 9 };
    held.setRange(range);
    held.put(3, line('a'));
    held.setRange({ ...range, nextOffset: 10 });
    assert.ok(held.at(3));
    held.setRange({ ...range, generation: 'h' });
    assert.equal(held.at(3), undefined);
  });
});

describe('events of the stream', () => {
  const stamp = '2026-01-02T03:04:05.678Z';

  it('are lines with their times, or to be read where they cannot be told apart', () => {
    const atMs = Date.parse(stamp);
    assert.deepEqual(linesOf(`${stamp} one\r\n${stamp} \n`, 2), [
      { atMs, text: 'one' },
      { atMs, text: '' },
    ]);
    assert.equal(linesOf(`${stamp} one\n`, 2), null);
    assert.equal(linesOf(`${stamp} one\nrest of a longer one\n`, 2), null);
  });

  it('are known by generation and offset', () => {
    assert.deepEqual(frameId('0abc:17'), { generation: '0abc', offset: 17 });
    assert.equal(frameId(''), null);
    assert.equal(frameId('abc:x'), null);
  });
});

describe('the parts of a line', () => {
  it('have the colours that it asks for', () => {
    const parts = lineParts('a\u001b[1;31mb\u001b[38;5;46mc\u001b[0;48;2;0;0;255md\u001b[me');
    assert.deepEqual(
      parts.map(({ text, look }) => [text, look]),
      [
        ['a', ''],
        ['b', 'line-ink-1 line-bold'],
        ['c', 'line-ink-10 line-bold'],
        ['d', 'line-paper-12'],
        ['e', ''],
      ],
    );
  });

  it('are marked wherever the text stands, across colours and in any case', () => {
    const parts = lineParts('An Er\u001b[31mror\u001b[0m, error', 'error');
    assert.equal(parts.map(({ text, marked }) => (marked ? `[${text}]` : text)).join(''), 'An [Er][ror], [error]'); // prettier-ignore
    assert.ok(lineParts('Error', 'error', true).every(({ marked }) => !marked));
  });

  it('are the plain text of the line, whatever is in it and whatever is marked', () => {
    const unit = fc.constantFrom('\u001b', '[', ']', '3', '1', ';', 'm', '\u0007', '\\', 'é', 'İ', '\t', '\r', 'a'); // prettier-ignore
    fc.assert(
      fc.property(fc.string({ unit }), fc.string({ unit, maxLength: 2 }), (text, needle) => {
        const parts = lineParts(text, needle);
        assert.equal(parts.map((part) => part.text).join(''), plainText(text));
        assert.equal(plainLine(text), plainText(text));
      }),
    );
  });
});

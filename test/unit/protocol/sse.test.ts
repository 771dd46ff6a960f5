import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatCursor, parseCursor, sseComment, sseEvent } from '../../../src/protocol/sse.ts';
import { SseParser } from '../../support/sse-parser.ts';

describe('sseEvent()', () => {
  it('survives any text and any split of the bytes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 5 }),
        fc.array(fc.nat(300)),
        (texts, cuts) => {
          const stream = texts.map((text, i) => sseEvent('data', text, `g:${String(i)}`)).join('');
          const bytes = Buffer.from(sseComment('ping') + stream);
          const ends = [...new Set(cuts.map((c) => c % bytes.length))].sort((a, b) => a - b);
          const parser = new SseParser();
          const events = [...ends, bytes.length].flatMap((end, i) =>
            parser.push(bytes.subarray(i === 0 ? 0 : ends[i - 1], end)),
          );
          assert.deepEqual(
            events.map((e) => JSON.parse(e.data) as string),
            texts,
          );
          assert.deepEqual(parser.comments, ['ping']);
          assert.deepEqual(
            events.map((e) => e.id),
            texts.map((_, i) => `g:${String(i)}`),
          );
        },
      ),
    );
  });

  it('gives an empty string data that a browser dispatches', () => {
    assert.equal(sseEvent('exit', ''), 'event: exit\ndata: ""\n\n');
  });
});

describe('parseCursor()', () => {
  it('reads what formatCursor() writes', () => {
    const cursor = { generation: '0abc12345', offset: 42 };
    assert.deepEqual(parseCursor(formatCursor(cursor)), cursor);
  });

  it('refuses all else', () => {
    for (const text of ['', ':', 'g:', ':1', 'g:-1', 'g:01', 'g:1.5', 'g:1:2', 'G:1', 'g:1\n']) {
      assert.equal(parseCursor(text), undefined, text);
    }
    assert.equal(parseCursor(`g:${'9'.repeat(16)}`), undefined);
  });
});

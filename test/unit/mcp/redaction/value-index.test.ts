import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formsOf } from '../../../../src/mcp/redaction/forms.ts';
import type { Span } from '../../../../src/mcp/redaction/spans.ts';
import { ValueIndex } from '../../../../src/mcp/redaction/value-index.ts';

function found(index: ValueIndex, text: string, other?: ValueIndex): string[] {
  const spans: Span[] = [];
  ValueIndex.find(other === undefined ? [index] : [index, other], text, spans);
  return spans.map(({ start, end, what }) => `${what}: ${text.slice(start, end)}`);
}

describe('ValueIndex', () => {
  it('finds a value wherever it stands', () => {
    const index = new ValueIndex();
    index.add('app', 'A', formsOf('swordfish'));
    for (let at = 0; at < 12; at++) {
      const text = `${'x'.repeat(at)}swordfish`;
      assert.deepEqual(found(index, text), ['A: swordfish']);
      assert.deepEqual(found(index, `${text}yz`), ['A: swordfish']);
    }
  });

  it('finds one of thousands that begin alike', () => {
    const index = new ValueIndex();
    for (let i = 0; i < 4_000; i++) {
      const value = `postgres://gangway:pass${String(i)}word@db.internal:5432/app`;
      index.add(`app_${String(i % 500)}`, `V${String(i)}`, formsOf(value));
    }
    const text = 'is postgres://gangway:pass3345word@db.internal:5432/app?';
    assert.deepEqual(found(index, text), [`V3345: ${text.slice(3, -1)}`]);
    index.remove('app_345');
    assert.deepEqual(found(index, text), []);
    assert.deepEqual(found(index, text.replace('3345', '3346')).length, 1);
  });

  it('finds a long value, and none that differs in one character', () => {
    const index = new ValueIndex();
    const long = 'ab'.repeat(2_000);
    index.add('app', 'LONG', formsOf(`${long}c`));
    assert.equal(found(index, `x${long}cx`).length, 1);
    assert.equal(found(index, `x${long}dx`).length, 0);
  });

  it('finds what is in either of two, whatever stands in them', () => {
    const [large, small, empty] = [new ValueIndex(), new ValueIndex(), new ValueIndex()];
    for (let i = 0; i < 2_000; i++) large.add('app', 'A', formsOf(`value-${String(i)}-of-many`));
    small.add('db', 'B', formsOf('swordfish'));
    for (let at = 0; at < 8; at++) {
      const text = `${'x'.repeat(at)}value-77-of-many and swordfish`;
      const both = ['A: value-77-of-many', 'B: swordfish'];
      assert.deepEqual(found(large, text, small).sort(), both);
      assert.deepEqual(found(small, text, large).sort(), both);
      assert.deepEqual(found(empty, text, small), ['B: swordfish']);
      assert.deepEqual(found(small, text, empty), ['B: swordfish']);
      assert.deepEqual(found(empty, text, empty), []);
    }
  });

  it('keeps what another owner still has', () => {
    const index = new ValueIndex();
    index.add('one', 'A', formsOf('swordfish'));
    index.add('two', 'B', formsOf('swordfish'));
    index.remove('one');
    assert.deepEqual(found(index, 'swordfish'), ['B: swordfish']);
    assert.equal(index.knows('A'), false);
    index.remove('two');
    assert.equal(index.chars, 0);
    assert.deepEqual(found(index, 'swordfish'), []);
  });

  // Values made to have the same window everywhere, over a text that has nothing but it.
  it('ends on values that are made to be alike', { timeout: 30_000 }, () => {
    const index = new ValueIndex();
    for (let length = 6; length < 400; length++) {
      index.add('app', `V${String(length)}`, [{ text: 'a'.repeat(length), base64: false }]);
    }
    assert.deepEqual(found(index, 'a'.repeat(50_000)).length > 0, true);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonStart } from '../../src/protocol/json-structure.ts';

describe('jsonStart()', () => {
  it('is JSON, of values that stand in the whole, whatever is cut where', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(500), (value, chars) => {
        const json = JSON.stringify(value);
        const start: unknown = JSON.parse(jsonStart(json, chars) ?? 'null');
        const whole = leavesOf(value);
        for (const leaf of start === null ? [] : leavesOf(start)) assert.ok(whole.has(leaf), leaf);
      }),
    );
  });

  it('keeps all elements that are whole', () => {
    const json = JSON.stringify({
      a: [{ text: 'one, "two"' }, { text: 'three' }, { text: 'four' }],
    });
    const cut = json.indexOf('four') + 2;
    assert.deepEqual(JSON.parse(jsonStart(json, cut) ?? ''), {
      a: [{ text: 'one, "two"' }, { text: 'three' }],
    });
  });
});

function leavesOf(value: unknown): Set<string> {
  if (typeof value !== 'object' || value === null) return new Set([JSON.stringify(value)]);
  return new Set(Object.values(value).flatMap((one) => [...leavesOf(one)]));
}

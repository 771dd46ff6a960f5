/** Results of tools: whatever a tool says, what is sent is JSON, within the bound, of the same types. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { resultBytesMax, type ToolOutcome } from '../../../src/mcp/tool.ts';
import { outcomeJson, resultTail } from '../../../src/mcp/results.ts';

const tail = resultTail({ name: 'gangway', version: '1.2.3' });
const awkward = ['\ud800', '\udfff', '🎉', '\u0000', '"', '\\', '\n', 'é', '\u2028', 'x'];
const unit = fc.constantFrom(...awkward);
// What comes in quantity is made of a few pieces, so that it is quickly made.
const texts = (most: number) =>
  fc
    .tuple(fc.string({ unit, maxLength: 20 }), fc.constantFrom(0, 1, 40, most))
    .map(([some, times]) => some.repeat(times));
const text = texts(5_000);
const name = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'a', 'b'), fc.string({ unit }));
const small: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, -0.5, 1e300),
    texts(100),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
  ),
})).value;
const many: fc.Arbitrary<unknown[]> = fc
  .tuple(small, fc.constantFrom(0, 1, 30, 900))
  .map(([one, count]) => Array.from<unknown>({ length: count }).fill(one));
const answer = fc.record({ text, small, many });

function resultOf(outcome: ToolOutcome): Record<string, unknown> {
  const bytes = Buffer.from(outcomeJson(outcome, tail));
  assert.ok(bytes.length <= resultBytesMax, String(bytes.length));
  const result = JSON.parse(bytes.toString()) as Record<string, unknown>;
  assert.equal(result['resultType'], 'complete');
  return result;
}

/** Every type stands where it stood: texts and lists may only be shorter. */
function assertSameTypes(shown: unknown, given: unknown): void {
  if (typeof given === 'string') {
    assert.ok(typeof shown === 'string');
    assert.ok(given === shown || given.startsWith(shown.replace(/…$/, '')));
  } else if (Array.isArray(given)) {
    assert.ok(Array.isArray(shown) && shown.length <= given.length);
    for (const [i, one] of shown.entries()) assertSameTypes(one, given[i]);
  } else if (typeof given === 'object' && given !== null) {
    assert.ok(typeof shown === 'object' && shown !== null && !Array.isArray(shown));
    assert.deepEqual(Object.keys(shown), Object.keys(given));
    for (const [key, one] of Object.entries(shown)) {
      assertSameTypes(one, (given as Record<string, unknown>)[key]);
    }
  } else assert.deepEqual(shown, given);
}

describe('outcomeJson', () => {
  it('keeps structured content within the bound and every type in its place', () => {
    fc.assert(
      fc.property(answer, fc.option(text), (content, beside) => {
        const json = JSON.stringify(content);
        const result = resultOf({
          kind: 'structured',
          json,
          ...(beside !== null && { text: beside }),
        });
        if (result['isError'] === true) return;
        assertSameTypes(result['structuredContent'], JSON.parse(json));
      }),
    );
  });

  it('keeps texts, sentences and blocks within the bound', () => {
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 5 }), (one, more) => {
        resultOf({ kind: 'text', text: one });
        assert.equal(resultOf({ kind: 'failed', sentence: one })['isError'], true);
        const content = more.map((block) => ({ type: 'text', text: block }));
        resultOf({ kind: 'content', content });
      }),
    );
  });
});

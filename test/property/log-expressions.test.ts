/** Expressions of log searches, held to JavaScript's own: both find the same in the same texts. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { matcherOf } from '../../src/logs/search/matcher.ts';

const letters = ['a', 'B', 'b', 'k', '\u212a', 'é', 'É', 'ß', '_', '7', ' ', '\t', '-', '.', 'ж', 'Ж', '\ud83d', '\u2028']; // prettier-ignore
const text = fc.string({ unit: fc.constantFrom(...letters), maxLength: 6 });

const escaped = fc.constantFrom('\\d', '\\D', '\\w', '\\W', '\\s', '\\S');
const unit = fc.constantFrom('a', 'B', 'k', 'é', 'ж', '_', '7', ' ', '\\.', '\\-', '\\x61', '\\u00e9', '\\t', '.'); // prettier-ignore
const member = fc.oneof(
  fc.constantFrom('a', 'B', 'é', 'Ж', '7', '_', 'a-k', '0-9', 'A-z', 'à-ï', '\\-', '-', '\\b'),
  escaped,
);
const unitClass = fc
  .tuple(fc.constantFrom('', '^'), fc.array(member, { maxLength: 4 }))
  .map(([negated, members]) => `[${negated}${members.join('')}]`)
  // A dash between two members makes a range of them, which may be out of order.
  .filter(isReadable);
const times = fc.constantFrom(
  '',
  '',
  '',
  '*',
  '+',
  '?',
  '{2}',
  '{1,}',
  '{0,2}',
  '*?',
  '+?',
  '{1,3}?',
);

const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const group = tie('expression').map((inner) => `(${inner})`);
  const plain = tie('expression').map((inner) => `(?:${inner})`);
  // Deeper ones may take JavaScript for ever.
  const atom = fc.oneof({ maxDepth: 2 }, unit, unitClass, escaped, group, plain);
  const part = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(atom, times).map(([one, count]) => one + count) },
    { weight: 1, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B') },
  );
  const sequence = fc.array(part, { maxLength: 3 }).map((parts) => parts.join(''));
  return {
    expression: fc.array(sequence, { minLength: 1, maxLength: 2 }).map((all) => all.join('|')),
  };
});

function isReadable(source: string): boolean {
  try {
    return new RegExp(source).source !== '';
  } catch {
    return false;
  }
}

it('an expression finds what the same one of JavaScript finds, in either case', () => {
  const sources = expression.filter((source) => source !== '' && source.length <= 500);
  fc.assert(
    fc.property(
      sources,
      fc.array(text, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      (source, texts, exact) => {
        const theirs = new RegExp(source, exact ? '' : 'i');
        const ours = matcherOf({ text: source, regex: true, caseSensitive: exact });
        for (const one of texts) {
          assert.equal(
            ours.matches(one),
            theirs.test(one),
            `/${source}/ in ${JSON.stringify(one)}`,
          );
        }
      },
    ),
    { numRuns: 400 },
  );
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formsOf, isPlain } from '../../../src/mcp/redaction/forms.ts';
import { Redaction } from '../../../src/mcp/redaction/redaction.ts';
import { SecretIndex } from '../../../src/mcp/redaction/secret-index.ts';

const mark = /\[redacted: (?:variable [A-Za-z_][A-Za-z0-9_]*|[a-z ]+)\]/;

/** Few characters, so that values overlap, and those that need care where they are encoded. */
const narrow = fc
  .array(fc.constantFrom('a', 'b', '"', '\\', '/', '\n', 'é', ' ', '%'), {
    minLength: 6,
    maxLength: 14,
  })
  .map((chars) => chars.join(''));
const wide = fc.string({ unit: 'grapheme', minLength: 6, maxLength: 40 });
const lines = fc
  .array(fc.string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 20 }), {
    minLength: 2,
    maxLength: 4,
  })
  .map((all) => all.join('\n'));
const long = fc
  .tuple(fc.constantFrom('aab', 'xyz"'), fc.integer({ min: 20, max: 60 }))
  .map(([part, count]) => part.repeat(count));
const value = fc
  .oneof(narrow, wide, lines, long)
  .filter((text) => text.trim().length >= 6 && !isPlain(text.trim()));

const encodings: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  (text) => (text.isWellFormed() ? encodeURIComponent(text) : ''),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(text).toString('base64url'),
  (text) => Buffer.from(`${text}\n`).toString('base64'),
];

const around = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    'TOKEN=', '"password":"', 'postgres://u:', '@host', 'Bearer ', '\\', '"', "'", '\n', 'a', 'b',
    '[redacted: token]', '[redacted: variable V0]', '[redacted: ', ']', 'gwy_aaaaaaaaaaaaaaaaaaaa',
    'sk-', 'eyJhbGciOiJIUzI1NiJ9.', 'cookie: a=b', '\u001b[31m', '://', 'ghp_',
  ), // prettier-ignore
);

interface Case {
  values: string[];
  text: string;
}

const cases: fc.Arbitrary<Case> = fc.array(value, { minLength: 1, maxLength: 6 }).chain((values) =>
  fc.record({
    values: fc.constant(values),
    text: fc
      .array(
        fc.oneof(
          around,
          fc
            .tuple(fc.nat(values.length - 1), fc.nat(encodings.length - 1))
            .map(([which, how]) => encodings[how]!(values[which]!)),
        ),
        { maxLength: 16 },
      )
      .map((parts) => parts.join('')),
  }),
);

function redactionOf(values: readonly string[]): Redaction {
  const index = new SecretIndex();
  values.forEach((text, i) => index.add('app', `variable V${String(i)}`, formsOf(text)));
  return new Redaction(index);
}

/** What a reader could know of the values, from what stands between the marks. */
function leaks(values: readonly string[], text: string): string[] {
  const between = text.split(mark);
  return values
    .flatMap((one) => formsOf(one))
    .map((form) => form.text)
    .filter((form) => between.some((part) => part.includes(form)));
}

describe('redaction', () => {
  it('leaves no value in any of its forms', () => {
    fc.assert(
      fc.property(cases, ({ values, text }) => {
        assert.deepEqual(leaks(values, redactionOf(values).text(text)), []);
      }),
      { numRuns: 1_000 },
    );
  });

  it('covers every encoding by some form', () => {
    fc.assert(
      fc.property(value, (one) => {
        for (const encode of encodings) {
          const text = encode(one.trim());
          if (text.length < 6) continue;
          assert.ok(
            formsOf(one).some((form) => text.includes(form.text)),
            text,
          );
        }
      }),
    );
  });

  it('changes nothing more the second time', () => {
    fc.assert(
      fc.property(cases, ({ values, text }) => {
        const redaction = redactionOf(values);
        const once = redaction.text(text);
        assert.equal(redaction.text(once), once);
        const json = redaction.json(JSON.stringify([text]));
        assert.equal(redaction.json(json), json);
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps JSON, with its shape, keys and numbers, and redacts its strings as texts', () => {
    const json = fc.tuple(fc.array(cases, { minLength: 1, maxLength: 4 }), fc.jsonValue());
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), ([all, beside], indent) => {
        const values = all.flatMap((one) => one.values);
        const redaction = redactionOf(values);
        const before = { nodes: all.map(({ text }) => ({ at: 1, text, ok: true })), beside };
        const after = JSON.parse(
          redaction.json(JSON.stringify(before, null, indent)),
        ) as typeof before;
        assert.deepEqual(shapeOf(after), shapeOf(JSON.parse(JSON.stringify(before))));
        for (const { text } of after.nodes) assert.deepEqual(leaks(values, text), []);
      }),
      { numRuns: 500 },
    );
  });

  it('returns a text that has nothing in it as it is', () => {
    const words = fc.array(fc.constantFrom('GET /a', ' 200 ', '{"x":1}', '\n', 'done in 5 ms'));
    fc.assert(
      fc.property(fc.array(wide, { maxLength: 5 }), words, (values, parts) => {
        const text = parts.join('');
        fc.pre(leaks(values, text).length === 0);
        assert.equal(redactionOf(values).text(text), text);
      }),
    );
  });

  it('does not care in which order values came, or what was taken out again', () => {
    fc.assert(
      fc.property(cases, fc.array(value, { maxLength: 5 }), ({ values, text }, others) => {
        const index = new SecretIndex();
        others.forEach((one, i) => index.add('other', `variable O${String(i)}`, formsOf(one)));
        [...values].reverse().forEach((one) => index.add('app', 'variable V', formsOf(one)));
        index.remove('other');
        const redaction = new Redaction(index);
        assert.deepEqual(leaks(values, redaction.text(text)), []);
      }),
    );
  });
});

/** A value without what its strings say. */
function shapeOf(json: unknown): unknown {
  if (typeof json === 'string') return '';
  if (Array.isArray(json)) return json.map(shapeOf);
  if (typeof json !== 'object' || json === null) return json;
  return Object.entries(json).map(([key, inner]) => [key, shapeOf(inner)]);
}

/** However a document is written, MCP refuses what it names, and nothing for what it only says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse } from 'graphql';
import { Exposure } from '../../src/graphql/gate/exposure.ts';
import { schema } from '../../src/graphql/schema/schema.ts';

interface Selection {
  /** Null: an inline fragment. */
  field: string | null;
  text: string;
  below: readonly Selection[];
}

// An interface would not do: letrec wants a record.
type Trees = { selections: readonly Selection[]; field: Selection; inline: Selection };

const exposure = new Exposure(schema);
const refused = ['revealEnv', 'rotateIt', 'execConsole', 'createToken', 'login', 'value', 'secret'];
const innocent = ['id', 'apps', 'Reveal', 'unexec', 'values', 'isSecret', '__typename', 'reVeal'];

const anyName = fc.constantFrom(...refused, ...innocent);
// Mostly innocent, so that many documents hold nothing or a single one.
const fieldName = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...innocent) },
  { weight: 1, arbitrary: fc.constantFrom(...refused) },
);
const gap = fc.constantFrom(' ', '\n', ',', '\t', ' # revealEnv { value }\r\n', '\r', ' ,,\uFEFF');
const spelled = (name: string) => fc.constantFrom(`"${name}"`, `"""{ ${name} }"""`, `"\\"${name}"`);
const value = fc.oneof(
  anyName.map((name) => `$${name}`),
  anyName.chain(spelled),
  anyName.map((name) => `{ ${name}: [${name}] }`),
);
const argument = fc.tuple(anyName, value).map(([name, given]) => `(${name}: ${given})`);
const directive = fc.constantFrom('@skip(if: true)', '@include(if: $value)', '@execIt', '@secret');
const optional = (part: fc.Arbitrary<string>) => fc.option(part, { nil: '', freq: 2 });

const { selections } = fc.letrec<Trees>((tie) => ({
  selections: fc.array(fc.oneof({ weight: 4, arbitrary: tie('field') }, tie('inline')), {
    minLength: 1,
    maxLength: 4,
  }),
  field: fc
    .record({
      field: fieldName,
      alias: optional(anyName.map((name) => `${name}:`)),
      after: fc.tuple(gap, optional(argument), gap, optional(directive)),
      below: fc.oneof({ maxDepth: 3 }, fc.constant([]), tie('selections')),
    })
    .map(({ field, alias, after, below }) => ({
      field,
      text: [alias, field, ...after].join(''),
      below,
    })),
  inline: fc
    .record({
      on: optional(anyName.map((name) => ` on ${name} `)),
      mark: optional(directive),
      below: fc.oneof(
        { maxDepth: 3 },
        fc.constant([{ field: 'id', text: 'id', below: [] }]),
        tie('selections'),
      ),
    })
    .map(({ on, mark, below }) => ({ field: null, text: `...${on}${mark}`, below })),
}));

function textOf(list: readonly Selection[]): string {
  const parts = list.map(({ text, below }) => `${text} ${below.length > 0 ? textOf(below) : ''}`);
  return `{ ${parts.join(' ')} }`;
}

function* namesIn(list: readonly Selection[]): Iterable<string> {
  for (const { field, below } of list) {
    if (field !== null && refused.includes(field)) yield field;
    yield* namesIn(below);
  }
}

const definition = fc
  .record({
    head: fc.oneof(
      fc.tuple(fc.constantFrom('query', 'mutation'), anyName).map((words) => words.join(' ')),
      anyName.map((name) => `fragment ${name} on ${name}`),
      fc.constant(''),
    ),
    selections,
  })
  .map((made) => ({ ...made, text: `${made.head} ${textOf(made.selections)}` }));

describe('Exposure', () => {
  it('finds exactly the refused names that stand as fields, in the order they are written', () => {
    let clean = 0;
    const runs = 1_000;
    fc.assert(
      fc.property(fc.array(definition, { minLength: 1, maxLength: 4 }), gap, (parts, between) => {
        const judged = exposure.judge(parse(parts.map(({ text }) => text).join(between)));
        const found = judged.fields.map(({ extensions }) => extensions?.['field']);
        const names = new Set(parts.flatMap((part) => [...namesIn(part.selections)]));
        assert.deepEqual(found, [...names].slice(0, 5));
        assert.deepEqual(judged.subscriptions, []);
        if (names.size === 0) clean++;
      }),
      { numRuns: runs },
    );
    assert.ok(clean > runs / 20 && clean < (runs * 19) / 20, `both kinds were met: ${clean}`);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as z from 'zod';
import { toolInput } from '../../../src/mcp/input.ts';

const input = toolInput({ name: z.string(), first: z.int().min(1).default(50) });

describe('toolInput()', () => {
  it('takes null for an argument that is left out', () => {
    assert.deepEqual(input.read({ name: 'a', first: null, team: null }), {
      ok: true,
      value: { name: 'a', first: 50 },
    });
  });

  it('misses an argument that is required and null', () => {
    const read = input.read({ name: null });
    assert.ok(!read.ok);
    assert.match(read.sentence, /name/);
  });

  it('does not look at thousands of arguments one by one', () => {
    const many = Object.fromEntries(Array.from({ length: 19_000 }, (_, i) => [`a${String(i)}`, 1]));
    for (const args of [many, { name: 'a', variables: many }]) {
      const read = input.read(args);
      assert.ok(!read.ok);
      assert.match(read.sentence, /64 at most/);
    }
  });

  it('takes nothing that it does not name', () => {
    const read = input.read({ name: 'a', other: 1 });
    assert.ok(!read.ok);
    assert.match(read.sentence, /other/);
  });
});

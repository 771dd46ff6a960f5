import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { core } from '../../mutants/core.ts';
import { unnoticed } from '../../mutants/unnoticed.ts';

const root = new URL('../../../', import.meta.url);

describe('the breaks of npm run mutants', () => {
  for (const { name, file, find, tests } of [...unnoticed, ...core]) {
    it(`apply: ${name}`, () => {
      const whole = readFileSync(new URL(file, root), 'utf8');
      assert.equal(whole.split(find).length, 2, `${file} has its text once`);
      const missing = tests.filter((test) => !existsSync(new URL(`test/${test}`, root)));
      assert.deepEqual(missing, []);
    });
  }
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import defaults from '../../config/default.json' with { type: 'json' };
import { variableOf } from '../../src/config.ts';
import type { Config } from '../../src/config.ts';
import { errorTable } from '../../src/lib/errors.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The cells of the table between two markers, without its head. */
function rowsOf(name: string): string[][] {
  const section = readme.split(`<!-- ${name} -->`)[1]?.split(`<!-- /${name} -->`)[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
}

describe('README', () => {
  it('lists every error code with its status, and no other', () => {
    const listed = rowsOf('errors').map(([, code, status]) => [code, Number(status)]);
    const known = Object.entries(errorTable).map(([code, { status }]) => [code, status]);
    assert.deepEqual(listed, known);
  });

  it('lists every option with its variable and default, and no other', () => {
    const listed = rowsOf('options').map(([, option, variable, value]) => [
      option,
      variable,
      value,
    ]);
    const known = Object.entries(defaults).map(([option, value]) => [
      option,
      variableOf(option as keyof Config),
      option === 'edgeHost' ? 'as host' : Array.isArray(value) ? '' : String(value),
    ]);
    assert.deepEqual(listed, known);
  });
});

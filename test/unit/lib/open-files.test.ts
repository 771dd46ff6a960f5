import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openFilesMax } from '../../../src/lib/open-files.ts';

it('reads the soft limit, which is infinite where nothing is said', () => {
  const line = 'Max open files            20000                524288               files     \n';
  assert.equal(
    openFilesMax(`Max processes 96365 96365 processes\n${line}Max locked memory 8 8 bytes`),
    20_000,
  );
  assert.equal(
    openFilesMax('Max open files            unlimited            unlimited   files'),
    Infinity,
  );
  assert.equal(openFilesMax(''), Infinity);
  assert.ok(openFilesMax() > 100);
});

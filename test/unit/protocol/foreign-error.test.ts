import assert from 'node:assert/strict';
import { it } from 'node:test';

import { foreignError } from '../../../src/protocol/foreign-error.ts';

it('foreignError() takes code, sentence and pause of what another machine tells', () => {
  const error = foreignError({ code: 'OVERLOADED', detail: 'Too much.', retryAfterS: 4.2 });
  assert.deepEqual([error.code, error.message, error.retryAfterS], ['OVERLOADED', 'Too much.', 5]);
});

it('foreignError() takes no headers, no extensions, no endless sentence and no endless pause', () => {
  const error = foreignError({
    code: 'CONFLICT',
    detail: 'x'.repeat(10_000),
    retryAfterS: 1e9,
    headers: { 'set-cookie': 'a=b' },
    extensions: { team: 'other' },
  });
  assert.equal(error.message.length, 2000);
  assert.deepEqual([error.headers, error.extensions], [undefined, undefined]);
  assert.equal(error.retryAfterS, undefined);
});

it('foreignError() makes INTERNAL of what is no error that it knows', () => {
  const told = [null, 7, 'CONFLICT', [], { code: 'toString', detail: 'x' }, { code: 'CONFLICT' }];
  for (const one of told) assert.equal(foreignError(one).code, 'INTERNAL');
});

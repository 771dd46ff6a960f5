import assert from 'node:assert/strict';
import { it } from 'node:test';
import { initialOf } from '../../../web/shell/session.ts';

it('initialOf() takes the whole of the first letter', () => {
  const names = ['ada', ' x', 'z', '9 lives', 'e\u0301clair', 'émile', '👩‍👩‍👧 home', '', '  '];
  assert.deepEqual(names.map(initialOf), ['A', 'X', 'Z', '9', 'E\u0301', 'É', '👩‍👩‍👧', '·', '·']);
});

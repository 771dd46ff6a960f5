import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { editOf, offersFor, textOf } from '../../../web/pages/app/environment/edited-text.ts';

const known = [
  { key: 'MODE', isSecret: false, value: 'a b' },
  { key: 'API_KEY', isSecret: true, value: null },
  { key: 'OLD', isSecret: false, value: '' },
];

describe('all variables as one text', () => {
  it('change nothing while nobody edits them, and show no secret', () => {
    const text = textOf(known);
    assert.equal(text, 'MODE="a b"\nOLD=\n# API_KEY is secret; API_KEY=… gives it another value\n');
    assert.deepEqual(editOf(text, known), { added: [], changed: [], deleted: [], problems: [] });
  });

  it('tell what is new, another value, and gone; a secret is never deleted', () => {
    assert.deepEqual(editOf('MODE=c\nNEW=1\nAPI_KEY=x', known), {
      added: [{ key: 'NEW', value: '1' }],
      changed: [
        { key: 'MODE', value: 'c' },
        { key: 'API_KEY', value: 'x' },
      ],
      deleted: ['OLD'],
      problems: [],
    });
    assert.deepEqual(editOf('', known).deleted, ['MODE', 'OLD']);
  });

  it('offer references to databases behind a $, in place of what is typed', () => {
    const databases = [{ id: 'db_1', name: 'Orders' }];
    const [first, ...rest] = offersFor('URL=${data', databases);
    assert.deepEqual(first, { from: 4, label: '${database.db_1.url}', detail: 'Orders: url' });
    assert.equal(rest.length, 5);
    assert.deepEqual(offersFor('URL=x', databases), []);
    assert.deepEqual(offersFor('URL=${database.db_1.url}', databases), []);
  });
});

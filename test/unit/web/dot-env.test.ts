import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseDotEnv, toDotEnv } from '../../../web/pages/app/environment/dot-env.ts';

describe('the text of a .env file', () => {
  it('is read as shells and programs read it', () => {
    const text = [
      '# remark',
      '',
      'A=1',
      'export B = two words # not of it',
      `C='it is "as" # it stands'`,
      'D="a\\nb \\"c\\" \\\\ d"',
      'E=',
      'A=2',
      'F=a#b',
    ].join('\r\n');
    assert.deepEqual(parseDotEnv(text), {
      entries: [
        { key: 'A', value: '2' },
        { key: 'B', value: 'two words' },
        { key: 'C', value: 'it is "as" # it stands' },
        { key: 'D', value: 'a\nb "c" \\ d' },
        { key: 'E', value: '' },
        { key: 'F', value: 'a#b' },
      ],
      problems: [],
    });
  });

  it('tells the lines that are none', () => {
    assert.deepEqual(parseDotEnv('A=1\nno\n1B=2').problems, ['Line 2 is no KEY=value.', 'Line 3 is no KEY=value.']); // prettier-ignore
  });

  it('comes back as it was written', () => {
    const key = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,9}$/);
    const values = fc.uniqueArray(fc.record({ key, value: fc.string() }), { selector: ({ key }) => key }); // prettier-ignore
    fc.assert(
      fc.property(values, (entries) => {
        const plain = entries.map(({ key, value }) => ({ key, value }));
        assert.deepEqual(parseDotEnv(toDotEnv(plain)), { entries: plain, problems: [] });
      }),
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isName } from '../../../src/lib/names.ts';

describe('isName()', () => {
  it('takes names of any script, and emoji with their joiners', () => {
    const names = [
      'A',
      "Renée O'Neill",
      '山田 太郎',
      'نیما‌یوشیج',
      '👩‍💻 crew',
      '<b>',
      '😀'.repeat(100),
    ];
    for (const name of names) assert.equal(isName(name), true, name);
  });

  it('refuses what is empty, too long, or cannot be seen', () => {
    const names = ['', ' ', '\u200b', '\u200d\ufeff', '\u3164', 'x'.repeat(101), '😀'.repeat(101)];
    for (const name of names) assert.equal(isName(name), false, JSON.stringify(name));
  });

  it('refuses what breaks the line, hides, or turns the text around it', () => {
    for (const bad of ['\0', '\n', '\u007f', '\u0085', '\u2028', '\u2029', '\u202e', '\u2066']) {
      assert.equal(isName(`a${bad}b`), false, JSON.stringify(bad));
    }
    assert.equal(isName('a\ud800'), false);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isName, shownText } from '../../../src/lib/names.ts';

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

describe('shownText()', () => {
  it('keeps what can be a name, up to its length', () => {
    assert.equal(shownText('Renée’s 👩‍💻 agent 1.2', 100), 'Renée’s 👩‍💻 agent 1.2');
    assert.equal(shownText('x'.repeat(300), 100), 'x'.repeat(100));
    assert.equal(shownText('  a  ', 100), 'a');
  });

  it('drops controls, line breaks, half characters and what turns text around', () => {
    const hostile = 'a\0\n\r\t\u001b[31m\u007f\u009b\u2028\u2029\u202e\u2066\ud800b';
    assert.equal(shownText(hostile, 100), 'a[31mb');
    // Cut in the middle of a character.
    assert.equal(shownText('aa😀', 3), 'aa');
  });

  it('is empty where nothing can be seen', () => {
    for (const text of ['', ' \n ', '\u200b\ufeff', '\u202e'.repeat(500)]) {
      assert.equal(shownText(text, 100), '', JSON.stringify(text));
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formsOf } from '../../../../src/mcp/redaction/forms.ts';
import { SecretIndex } from '../../../../src/mcp/redaction/secret-index.ts';

function found(index: SecretIndex, text: string): string[] {
  const spans = index.find(text);
  return spans.map(({ start, end, what }) => `${what}: ${text.slice(start, end)}`);
}

describe('SecretIndex', () => {
  it('finds a value wherever it stands', () => {
    const index = new SecretIndex();
    index.add('app', 'A', formsOf('swordfish'));
    for (let at = 0; at < 12; at++) {
      const text = `${'x'.repeat(at)}swordfish`;
      assert.deepEqual(found(index, text), ['A: swordfish']);
      assert.deepEqual(found(index, `${text}yz`), ['A: swordfish']);
    }
  });

  it('finds one of thousands that begin alike', () => {
    const index = new SecretIndex();
    for (let i = 0; i < 4_000; i++) {
      const value = `postgres-gangway-pass${String(i)}word.db.internal-5432-app`;
      index.add(`app_${String(i % 500)}`, `V${String(i)}`, formsOf(value));
    }
    const text = 'is postgres-gangway-pass3345word.db.internal-5432-app?';
    assert.deepEqual(found(index, text), [`V3345: ${text.slice(3, -1)}`]);
    index.remove('app_345');
    assert.deepEqual(found(index, text), []);
    assert.deepEqual(found(index, text.replace('3345', '3346')).length, 1);
  });

  it('finds a long value whole, and what is left of one that was cut', () => {
    const index = new SecretIndex();
    const long = Array.from({ length: 100 }, (_, i) => `part-${String(i)}-`).join('');
    index.add('app', 'LONG', [{ text: long, base64: false }]);
    for (let at = 0; at < 8; at++) {
      const text = `${'x'.repeat(at)}${long}x`;
      assert.deepEqual(found(index, text), [`LONG: ${long}`]);
    }
    assert.equal(found(index, long.slice(0, 100)).length, 1);
    assert.deepEqual(found(index, long.slice(0, 63)), []);
    index.remove('app');
    assert.equal(index.chars, 0);
    assert.deepEqual(found(index, long), []);
  });

  it('finds values and what the rules know in one text', () => {
    const index = new SecretIndex();
    for (let i = 0; i < 20_000; i++) index.add('app', 'A', formsOf(`value-${String(i)}-of-many`));
    for (let at = 0; at < 8; at++) {
      const text = `${'x'.repeat(at)} value-77-of-many and API_TOKEN=abcdef12`;
      assert.deepEqual(found(index, text), ['A: value-77-of-many', 'token: abcdef12']);
    }
  });

  it('names a variable rather than the password of a database that it is', () => {
    const index = new SecretIndex();
    index.add('db', 'password', formsOf('swordfish'));
    index.add('app', 'variable PW', formsOf('swordfish'));
    assert.deepEqual(found(index, 'swordfish'), ['variable PW: swordfish']);
    const spans = index.find('swordfish', (owner) => owner === 'db');
    assert.deepEqual(
      spans.map(({ what }) => what),
      ['password'],
    );
  });

  it('looks again at a clean text once a value is added', () => {
    const index = new SecretIndex();
    assert.equal(index.isClean('a swordfish'), true);
    assert.equal(index.isClean('a swordfish'), true);
    index.add('app', 'A', formsOf('swordfish'));
    assert.equal(index.isClean('a swordfish'), false);
  });

  it('keeps what another owner still has', () => {
    const index = new SecretIndex();
    index.add('one', 'A', formsOf('swordfish'));
    index.add('two', 'B', formsOf('swordfish'));
    index.remove('one');
    assert.deepEqual(found(index, 'swordfish'), ['B: swordfish']);
    assert.equal(index.knows('A'), false);
    index.remove('two');
    assert.equal(index.chars, 0);
    assert.deepEqual(found(index, 'swordfish'), []);
  });

  // Values made to have the same window everywhere, over a text that has nothing but it.
  it('ends on values that are made to be alike', { timeout: 30_000 }, () => {
    const index = new SecretIndex();
    for (let length = 6; length < 400; length++) {
      index.add('app', `V${String(length)}`, [{ text: 'a'.repeat(length), base64: false }]);
    }
    assert.deepEqual(found(index, 'a'.repeat(50_000)).length > 0, true);
  });
});

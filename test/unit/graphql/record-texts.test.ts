import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RecordTexts } from '../../../src/graphql/record-texts.ts';

interface Named {
  name: string;
}

/** A writer that counts what it writes. */
function counting(texts: RecordTexts) {
  const written: string[] = [];
  const write = texts.remember<null>((value) => {
    const { name } = value as Named;
    written.push(name);
    return name;
  });
  return { written, write: (record: Named) => write(record, null) };
}

describe('RecordTexts', () => {
  it('writes a record once, and another of the same content again', () => {
    const { written, write } = counting(new RecordTexts());
    const record = Object.freeze({ name: 'a' });
    assert.equal(write(record), 'a');
    assert.equal(write(record), 'a');
    assert.equal(write(Object.freeze({ name: 'a' })), 'a');
    assert.deepEqual(written, ['a', 'a']);
  });

  it('does not remember what may still change', () => {
    const { write } = counting(new RecordTexts());
    const view = { name: 'a' };
    assert.equal(write(view), 'a');
    view.name = 'b';
    assert.equal(write(view), 'b');
  });

  it('keeps the texts of two writers apart', () => {
    const texts = new RecordTexts();
    const record = Object.freeze({ name: 'a' });
    const loud = texts.remember<null>((value) => (value as Named).name.toUpperCase());
    assert.equal(counting(texts).write(record), 'a');
    assert.equal(loud(record, null), 'A');
  });

  it('forgets all when its characters are used up, and goes on', () => {
    const { written, write } = counting(new RecordTexts(250));
    const one = Object.freeze({ name: 'one' });
    const two = Object.freeze({ name: 'two' });
    write(one);
    write(two);
    write(one);
    assert.deepEqual(written, ['one', 'two']);
    write(Object.freeze({ name: 'three' }));
    write(one);
    write(one);
    assert.deepEqual(written, ['one', 'two', 'three', 'one']);
  });

  it('remembers nothing that could not be written', () => {
    const texts = new RecordTexts();
    let fails = true;
    const write = texts.remember<null>(() => {
      if (fails) throw new Error('not now');
      return 'text';
    });
    const record = Object.freeze({});
    assert.throws(() => write(record, null));
    fails = false;
    assert.equal(write(record, null), 'text');
  });
});

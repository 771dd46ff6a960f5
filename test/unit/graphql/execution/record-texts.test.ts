import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RecordRun, RecordTexts } from '../../../../src/graphql/execution/record-texts.ts';
import { settings } from '../../../support/graphql-fixture.ts';

interface Named {
  name: string;
}

const again: RecordRun = { keeps: true, settings };

/** A writer that counts what it writes. */
function counting(texts: RecordTexts) {
  const written: string[] = [];
  const write = texts.remember((value) => {
    const { name } = value as Named;
    written.push(name);
    return name;
  });
  return { written, write: (record: Named) => write(record, again) };
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
    const loud = texts.remember((value) => (value as Named).name.toUpperCase());
    assert.equal(counting(texts).write(record), 'a');
    assert.equal(loud(record, again), 'A');
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
    const write = texts.remember(() => {
      if (fails) throw new Error('not now');
      return 'text';
    });
    const record = Object.freeze({});
    assert.throws(() => write(record, again));
    fails = false;
    assert.equal(write(record, again), 'text');
  });

  it('remembers nothing of a run that does not come again', () => {
    const texts = new RecordTexts();
    let written = 0;
    const write = texts.remember(() => String(++written));
    const record = Object.freeze({});
    assert.equal(write(record, { keeps: false, settings }), '1');
    assert.equal(write(record, again), '2');
    assert.equal(write(record, { keeps: false, settings }), '2');
  });

  it('forgets what was written by other settings', () => {
    const texts = new RecordTexts();
    const write = texts.remember((_record, run) => run.settings.appsDomain);
    const record = Object.freeze({});
    assert.equal(write(record, again), 'localhost');
    const other = { ...settings, appsDomain: 'apps.example' };
    assert.equal(write(record, { keeps: true, settings: other }), 'apps.example');
    assert.equal(write(record, again), 'localhost');
  });

  it('writes a list once that comes again with the very same records', () => {
    const texts = new RecordTexts();
    let written = 0;
    const write = texts.rememberList((value) => {
      written++;
      return (value as Named[]).map(({ name }) => name).join();
    });
    const [a, b, c] = ['a', 'b', 'c'].map((name) => Object.freeze({ name }));
    for (let run = 0; run < 5; run++) assert.equal(write([a, b], again), 'a,b');
    assert.equal(written, 2);
    assert.equal(write([a, c], again), 'a,c');
    assert.equal(write([a, b, c], again), 'a,b,c');
    assert.equal(write([a], again), 'a');
    assert.equal(write([Object.freeze({ name: 'a' }), b], again), 'a,b');
  });

  it('does not take a list for the same that was changed, or whose items may still change', () => {
    const texts = new RecordTexts();
    const write = texts.rememberList((value) => (value as Named[]).map(({ name }) => name).join());
    const frozen = Object.freeze({ name: 'a' });
    const open = { name: 'b' };
    const list: Named[] = [frozen, open];
    for (let run = 0; run < 3; run++) assert.equal(write(list, again), 'a,b');
    open.name = 'c';
    assert.equal(write(list, again), 'a,c');
    list[1] = frozen;
    assert.equal(write(list, again), 'a,a');
    assert.equal(write(list, again), 'a,a');
    list.push(open);
    assert.equal(write(list, again), 'a,a,c');
  });
});

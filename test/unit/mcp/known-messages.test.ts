import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KnownMessages, type ReadMessage } from '../../../src/mcp/known-messages.ts';

type Request = Extract<ReadMessage, { kind: 'request' }>;

function requests(known: KnownMessages, ...bodies: string[]): Request[] {
  return bodies.map((body) => {
    const read = known.read(Buffer.from(body));
    assert.ok(read.kind === 'request', body);
    return read;
  });
}

const first = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":{"a":["é"]}}`;
const last = (id: string) => `{"method":"m","params":{"a":["é"]},"jsonrpc":"2.0","id":${id}}`;

describe('KnownMessages', () => {
  for (const [where, message] of [
    ['in front', first],
    ['at the end', last],
  ] as const) {
    it(`knows a request that came twice by all but its id, which stands ${where}`, () => {
      const known = new KnownMessages();
      const [one, two, three, four] = requests(
        known,
        ...['1', '2', '345678901234567', '"x-7"'].map(message),
      );
      assert.notEqual(one?.content, two?.content);
      assert.equal(three?.content, two?.content);
      assert.equal(four?.content, two?.content);
      assert.deepEqual([one?.id, two?.id, three?.id, four?.id], [1, 2, 345678901234567, 'x-7']);
      assert.deepEqual(four?.content.params, { a: ['é'] });
    });
  }

  it('lets nobody change what stands for many', () => {
    const [, , third] = requests(new KnownMessages(), first('1'), first('2'), first('3'));
    assert.ok(Object.isFrozen(third?.content.params));
    assert.ok(Object.isFrozen(third?.content.params['a']));
  });

  it('reads ids anew that are not plain', () => {
    const known = new KnownMessages();
    requests(known, first('1'), first('2'));
    for (const [text, id] of [
      ['-1', -1],
      ['9007199254740991', 9007199254740991],
      ['"\\u0061"', 'a'],
      ['"é"', 'é'],
      ['""', ''],
      [`"${'x'.repeat(101)}"`, 'x'.repeat(101)],
    ] as const) {
      assert.deepEqual(requests(known, first(text))[0]?.id, id);
    }
    for (const id of ['01', '1.5', 'null', 'true', '{}', '"a', '']) {
      assert.equal(known.read(Buffer.from(first(id))).kind, 'refused', id);
    }
  });

  it('does not take another member of that name for the id', () => {
    const nested = (arg: string, id: string) =>
      `{"jsonrpc":"2.0","method":"m","params":{"id":${arg}},"id":${id}}`;
    const known = new KnownMessages();
    for (const [arg, id] of [
      ['1', '1'],
      ['1', '1'],
      ['1', '1'],
      ['2', '1'],
      ['"id of nobody"', '"id of nobody"'],
      ['"id of nobody"', '"id of nobody"'],
      ['"id of nobody"', '"\\u0069d of nobody"'],
      ['"x"', '"\\u0069d of nobody"'],
    ] as const) {
      const [read] = requests(known, nested(arg, id));
      assert.deepEqual(read?.id, JSON.parse(id));
      assert.deepEqual(read?.content.params, { id: JSON.parse(arg) as unknown });
    }
  });

  it('reads the last of two ids, however they are spelled', () => {
    for (const name of ['"id"', '"\\u0069d"']) {
      const twice = (one: number, two: number) =>
        `{"jsonrpc":"2.0","id":${one},"method":"m",${name}:${two}}`;
      const read = requests(new KnownMessages(), twice(5, 5), twice(5, 5), twice(6, 5));
      assert.deepEqual(
        read.map(({ id }) => id),
        [5, 5, 5],
      );
    }
  });

  it('takes nothing that only looks like one it knows', () => {
    const known = new KnownMessages();
    requests(known, first('1'), first('2'), first('3'));
    assert.equal(known.read(Buffer.from(first('3').slice(0, -1))).kind, 'refused');
    assert.equal(known.read(Buffer.from(`${first('3')}}`)).kind, 'refused');
    assert.equal(known.read(Buffer.from(first('3').replace('2.0', '2.1'))).kind, 'refused');
    const other = requests(known, first('3').replace('"a"', '"b"'));
    assert.deepEqual(other[0]?.content.params, { b: ['é'] });
    // The same text in other bytes is none.
    assert.equal(known.read(Buffer.from(first('4'), 'latin1')).kind, 'refused');
  });

  it('tells notifications and what is refused as ever', () => {
    const known = new KnownMessages();
    for (let i = 0; i < 3; i++) {
      const read = known.read(Buffer.from('{"jsonrpc":"2.0","method":"m","params":{"id":1}}'));
      assert.ok(read.kind === 'notification');
      assert.deepEqual(read.content.params, { id: 1 });
      assert.equal(known.read(Buffer.from('{"jsonrpc":"2.0","id":1}')).kind, 'refused');
    }
  });

  it('goes on when it is full', () => {
    const known = new KnownMessages();
    for (let i = 0; i < 1_200; i++) {
      const body = `{"jsonrpc":"2.0","id":7,"method":"m${i}"}`;
      const read = requests(known, body, body, body);
      assert.equal(read[2]?.content.method, `m${i}`);
    }
  });
});

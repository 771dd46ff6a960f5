import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isOutdated, isSkipped, type Move } from '../../../../src/git/deliveries/order.ts';
import { isSameRepository } from '../../../../src/git/deliveries/same-repository.ts';

const move = (before: string | null, after: string | null, at: number | null = null): Move => ({
  ...{ before, after, committedAtMs: at },
});

/** Those that count, in the order in which they were delivered. */
function counted(moves: readonly Move[]): Move[] {
  const seen: Move[] = [];
  for (const one of moves) {
    const again = seen.at(-1)?.after === one.after;
    if (!again && !isOutdated(one, seen)) seen.push(one);
  }
  return seen;
}

describe('isOutdated()', () => {
  it('lets pushes through that follow one another, also back to an earlier commit', () => {
    const pushes = [
      move(null, 'a', 1),
      move('a', 'b', 2),
      move('b', 'a', 1),
      move('a', 'b', 2),
      move('b', null),
      move(null, 'a', 1),
    ];
    assert.deepEqual(counted(pushes), pushes);
  });

  it('knows a push that came late by the ones after it', () => {
    assert.ok(isOutdated(move('a', 'b'), [move('b', 'c')]));
    assert.ok(isOutdated(move('a', 'b'), [move('a', 'b'), move('b', 'c')]));
    assert.ok(isOutdated(move('a', 'b', 1), [move('x', 'y', 2)]));
  });

  it('takes a push for new where nothing tells', () => {
    assert.ok(!isOutdated(move('a', 'b'), []));
    assert.ok(!isOutdated(move('a', 'b'), [move('x', 'y')]));
    assert.ok(!isOutdated(move('a', 'b', 2), [move('x', 'y', 1)]));
  });

  it('ends at the newest push, in whatever order and however often pushes come', () => {
    const pushes = Array.from({ length: 20 }, (_, i) =>
      move(`c${String(i)}`, `c${String(i + 1)}`, i),
    );
    const some = fc.array(fc.integer({ min: 0, max: 19 }), { maxLength: 60 });
    fc.assert(
      fc.property(some, (order) => {
        const delivered = [...order, 19].map((i) => pushes[i]!);
        const last = counted([...delivered, ...delivered.slice(0, -1)]);
        assert.equal(last.at(-1)?.after, 'c20');
        assert.equal(last.filter(({ after }) => after === 'c20').length, 1);
      }),
    );
  });
});

describe('isSkipped()', () => {
  it('looks for the words in brackets anywhere in the message', () => {
    assert.ok(isSkipped('Docs [skip ci]'));
    assert.ok(isSkipped('Docs\n\n[CI SKIP]'));
    assert.ok(!isSkipped('skip ci'));
    assert.ok(!isSkipped(null));
  });
});

describe('isSameRepository()', () => {
  const delivered = {
    repository: 'Acme/Shop',
    cloneUrls: ['https://git.example.com/acme/shop.git', 'git@git.example.com:acme/shop.git'],
  };

  it('goes by the full name or by an address', () => {
    for (const given of ['acme/shop', 'acme/shop.git', 'https://git.example.com/acme/shop/']) {
      assert.ok(isSameRepository(given, delivered), given);
    }
    for (const given of ['acme/shop2', 'shop', 'other/acme/shop', 'https://x.example/acme/shop']) {
      assert.ok(!isSameRepository(given, delivered), given);
    }
  });
});

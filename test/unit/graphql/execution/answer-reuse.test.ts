import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anonymous, type Principal } from '../../../../src/auth/callers/principal.ts';
import { AnswerReuse } from '../../../../src/graphql/execution/answer-reuse.ts';

const ann: Principal = { kind: 'person', userId: 'usr_ann', sessionId: 's1', teamId: 'team_a' };
const bytes = (text: string) => Buffer.from(text);
const text = (found: Uint8Array | undefined) => found && Buffer.from(found).toString();

/** Keeps what is asked for again. */
function keep(reuse: AnswerReuse, ...kept: Parameters<AnswerReuse['keep']>): void {
  reuse.keep(...kept);
  reuse.keep(...kept);
}

describe('AnswerReuse', () => {
  it('keeps an answer when its request comes again, also across a write', () => {
    const reuse = new AnswerReuse(100_000);
    reuse.keep(ann, bytes('q'), bytes('first'), 1, 1);
    assert.equal(reuse.get(ann, bytes('q'), 1), undefined);
    reuse.keep(ann, bytes('q'), bytes('second'), 2, 2);
    assert.equal(text(reuse.get(ann, bytes('q'), 2)), 'second');
    for (let i = 0; i < 1_000; i++) reuse.keep(ann, bytes(`q ${i}`), bytes('once'), 2, 2);
    const found = Array.from({ length: 1_000 }, (_, i) => reuse.get(ann, bytes(`q ${i}`), 2));
    assert.ok(found.every((one) => one === undefined));
  });

  it('gives an answer to who would be answered alike, and to nobody else', () => {
    const reuse = new AnswerReuse(100_000);
    keep(reuse, ann, bytes('q'), bytes('for ann'), 1, 1);
    const others: Principal[] = [
      { ...ann, teamId: 'team_b' },
      { ...ann, teamId: null },
      { ...ann, sessionId: 's2' },
      { ...ann, userId: 'usr_bob' },
      { kind: 'token', userId: 'usr_ann', tokenId: 'tok_1', teamId: 'team_a' },
      anonymous,
    ];
    assert.equal(text(reuse.get({ ...ann }, bytes('q'), 1)), 'for ann');
    for (const other of others) assert.equal(reuse.get(other, bytes('q'), 1), undefined);
    others.forEach((other, i) => {
      keep(reuse, other, bytes('q'), bytes(String(i)), 1, 1);
    });
    others.forEach((other, i) => {
      assert.equal(text(reuse.get(other, bytes('q'), 1)), String(i));
    });
    assert.equal(text(reuse.get(ann, bytes('q'), 1)), 'for ann');
  });

  it('tells requests apart that differ in any byte, sampled or not', () => {
    const reuse = new AnswerReuse(1_000_000);
    const base = Buffer.alloc(1_000, 'x');
    keep(reuse, ann, base, bytes('base'), 1, 1);
    for (let i = 0; i < base.length; i++) {
      const other = Buffer.from(base);
      other[i] = 0x79;
      assert.equal(reuse.get(ann, other, 1), undefined);
    }
    assert.equal(text(reuse.get(ann, base, 1)), 'base');
  });

  it('forgets everything with the next position, and takes nothing that came too late', () => {
    const reuse = new AnswerReuse(100_000);
    keep(reuse, ann, bytes('q'), bytes('old'), 1, 2);
    assert.equal(reuse.get(ann, bytes('q'), 2), undefined);
    keep(reuse, ann, bytes('q'), bytes('new'), 2, 2);
    assert.equal(text(reuse.get(ann, bytes('q'), 2)), 'new');
    assert.equal(reuse.get(ann, bytes('q'), 3), undefined);
    assert.equal(reuse.get(ann, bytes('q'), 2), undefined);
  });

  it('stays within its bytes, and keeps nothing with none', () => {
    const small = new AnswerReuse(16 * 300);
    for (let i = 0; i < 1_000; i++) keep(small, ann, bytes(String(i)), Buffer.alloc(300), 1, 1);
    const kept = Array.from({ length: 1_000 }, (_, i) => small.get(ann, bytes(String(i)), 1));
    assert.ok(kept.filter((one) => one !== undefined).length <= 16);
    assert.ok(kept[999] !== undefined);
    const none = new AnswerReuse(0);
    keep(none, ann, bytes('q'), bytes('a'), 1, 1);
    assert.equal(none.get(ann, bytes('q'), 1), undefined);
  });
});

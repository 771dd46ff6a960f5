import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import type { Position } from '../../../../../src/drivers/docker/logs/log-cursor.ts';
import { MergeJournal } from '../../../../../src/drivers/docker/logs/merge-journal.ts';
import { tempDir } from '../../../../support/runner.ts';

const at = (seq: number): Position => ({
  seq,
  time: '2026-01-01T00:00:00.000000000Z',
  stream: 'stdout',
  digest: String(seq),
  nth: 1,
});

describe('MergeJournal', () => {
  let dir: string;
  let file: string;
  beforeEach(() => {
    dir = tempDir();
    file = path.join(dir, 'one.jsonl');
  });
  afterEach(() => {
    fs.rmSync(dir, { recursive: true });
  });

  const filled = (): MergeJournal => {
    const journal = new MergeJournal(file);
    assert.ok(
      journal.append(0, {
        runs: [
          ['a', 2],
          ['b', 1],
        ],
        positions: { a: at(2) },
      }),
    );
    assert.ok(journal.append(3, { runs: [['b', 4]], positions: { b: at(5) } }));
    assert.ok(
      journal.append(7, {
        runs: [
          ['a', 1],
          ['c', 1],
        ],
        positions: {},
      }),
    );
    return journal;
  };

  it('tells from any number on what followed, also to another process', () => {
    for (const journal of [filled(), new MergeJournal(file)]) {
      assert.deepEqual(journal.after(0), {
        seq: 0,
        counts: {},
        positions: {},
        told: { a: 3, b: 5, c: 1 },
        runs: [
          ['a', 2],
          ['b', 1],
          ['b', 4],
          ['a', 1],
          ['c', 1],
        ],
      });
      const middle = journal.after(5);
      assert.deepEqual(
        [middle.seq, middle.counts, middle.positions, middle.told],
        [3, { a: 2, b: 1 }, { a: at(2) }, { a: 3, b: 5, c: 1 }],
      );
      assert.deepEqual(journal.after(9).runs, []);
      assert.deepEqual(journal.after(1000).seq, 9);
    }
  });

  it('refuses what was merged while somebody else did, and knows it then', () => {
    const journal = filled();
    const other = new MergeJournal(file);
    assert.ok(other.append(9, { runs: [['c', 3]], positions: {} }));
    assert.equal(journal.append(9, { runs: [['a', 3]], positions: {} }), false);
    assert.deepEqual(journal.after(9).runs, [['c', 3]]);
    assert.ok(journal.append(12, { runs: [['a', 3]], positions: {} }));
    assert.deepEqual(other.after(12).runs, [['a', 3]]);
  });

  it('begins where all is acknowledged, and never before', () => {
    const journal = filled();
    journal.acknowledge(8);
    assert.equal(journal.after(0).seq, 7);
    assert.deepEqual(journal.after(7).counts, { a: 2, b: 5 });
    assert.deepEqual(journal.after(7).runs, [
      ['a', 1],
      ['c', 1],
    ]);
  });

  it('drops a line that a crash cut short, and goes on behind the last whole one', () => {
    filled();
    const whole = fs.readFileSync(file, 'utf8');
    for (const cut of [whole.length - 1, whole.length - 20]) {
      fs.writeFileSync(file, whole.slice(0, cut));
      const journal = new MergeJournal(file);
      assert.equal(journal.after(1000).seq, 7);
      assert.ok(journal.append(7, { runs: [['d', 1]], positions: {} }));
      assert.deepEqual(new MergeJournal(file).after(7).runs, [['d', 1]]);
    }
  });

  it('begins where a version before this one counted the log of a container', () => {
    const earlier = path.join(dir, 'one.json');
    fs.writeFileSync(earlier, JSON.stringify({ firstTime: null, points: [at(7), at(9)] }));
    const counts = { container: 9 };
    const stand = { seq: 9, counts, positions: { container: at(9) }, told: counts };
    assert.deepEqual(new MergeJournal(file).after(20), { ...stand, runs: [] });
    assert.ok(new MergeJournal(file).append(9, { runs: [['container', 2]], positions: {} }));
    const journal = new MergeJournal(file);
    assert.deepEqual(journal.after(9).runs, [['container', 2]]);
    journal.forget();
    assert.deepEqual(fs.readdirSync(dir), []);
  });

  it('stays small when it is acknowledged, without tasks that nobody knows any more', () => {
    const journal = new MergeJournal(file);
    let seq = 0;
    for (let round = 0; round < 3000; round++) {
      const task = `task-${String(round % 100)}`;
      assert.ok(journal.append(seq, { runs: [[task, 7]], positions: { [task]: at(7) } }));
      seq += 7;
      journal.keep(new Set(['task-1', 'task-2']));
      journal.acknowledge(seq);
    }
    assert.ok(fs.statSync(file).size < 300_000);
    const again = new MergeJournal(file).after(seq);
    assert.equal(again.seq, seq);
    assert.equal(again.counts['task-1'], 210);
    journal.forget();
    assert.deepEqual(fs.readdirSync(dir), []);
    assert.equal(journal.after(0).seq, 0);
  });
});

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';

import type { Position } from '../../../../../src/drivers/docker/logs/log-cursor.ts';
import { LogPositions } from '../../../../../src/drivers/docker/logs/log-positions.ts';
import { OpenExecs } from '../../../../../src/drivers/docker/consoles/open-execs.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { tempDir } from '../../../../support/runner.ts';

const at = (seq: number): Position => ({
  seq,
  time: '2026-01-01T00:00:00.000000000Z',
  stream: 'stdout',
  digest: String(seq),
  nth: 1,
});

describe('the positions of logs', () => {
  let dir: string;
  let clock: ManualClock;

  beforeEach(() => {
    dir = tempDir();
    clock = new ManualClock();
  });
  afterEach(() => {
    fs.rmSync(dir, { recursive: true });
  });

  it('lie at or before what is asked for, of what was delivered and what is kept', () => {
    const positions = new LogPositions(dir, clock);
    for (const seq of [10, 20, 30]) positions.delivered('a', at(seq));
    positions.acknowledge('a', 25);
    assert.equal(positions.before('a', 5), null);
    assert.equal(positions.before('a', 25)?.seq, 20);
    assert.equal(positions.before('a', 99)?.seq, 30);
    const next = new LogPositions(dir, clock);
    assert.equal(next.before('a', 99)?.seq, 20);
    assert.equal(next.oldest('a')?.seq, 20);
    assert.equal(next.before('b', 99), null);
  });

  it('are known at once of what comes behind a gap, whatever is acknowledged then', () => {
    const positions = new LogPositions(dir, clock);
    for (const seq of [10, 20]) positions.delivered('a', at(seq));
    positions.acknowledge('a', 10);
    positions.pin('a', at(15));
    const next = new LogPositions(dir, clock);
    assert.deepEqual(
      [12, 15, 19].map((seq) => next.before('a', seq)?.seq),
      [10, 15, 15],
    );
    positions.acknowledge('a', 20);
    assert.equal(positions.before('a', 25)?.seq, 20);
    assert.equal(positions.before('a', 14)?.seq, 10);
  });

  it('are written once a second at most, and when they are let go', async () => {
    const positions = new LogPositions(dir, clock);
    const kept = (): number | undefined => new LogPositions(dir, clock).before('a', 99)?.seq;
    for (const seq of [1, 2, 3]) {
      positions.delivered('a', at(seq));
      positions.acknowledge('a', seq);
    }
    assert.equal(kept(), 1);
    await clock.advance(1000);
    assert.equal(kept(), 3);
    positions.delivered('a', at(4));
    positions.acknowledge('a', 4);
    positions.close();
    assert.equal(kept(), 4);
    positions.forget('a');
    assert.equal(kept(), undefined);
  });

  it('know a log by its beginning', () => {
    const first = '2026-01-01T00:00:00.000000001Z';
    assert.ok(new LogPositions(dir, clock).beginsAt('a', first));
    const next = new LogPositions(dir, clock);
    assert.ok(next.beginsAt('a', first));
    assert.equal(next.beginsAt('a', '2026-01-01T00:00:00.000000002Z'), false);
  });

  it('are bounded, also where nobody acknowledges, and survive a torn file', () => {
    const positions = new LogPositions(dir, clock);
    for (let seq = 1; seq <= 10_000; seq++) positions.delivered('a', at(seq));
    const near = positions.before('a', 5000)?.seq ?? 0;
    assert.ok(near > 0 && near <= 5000);
    fs.writeFileSync(`${dir}/b.json`, '{"points":[');
    assert.equal(positions.before('b', 10), null);
  });
});

describe('the memory of sessions', () => {
  it('gives the next process what was not forgotten', () => {
    const dir = tempDir();
    const sessions = new OpenExecs(dir);
    assert.deepEqual(sessions.left(), []);
    sessions.add({ container: 'c1', mark: 'm1' });
    sessions.add({ container: 'c1', mark: 'm2' });
    sessions.forget('m1');
    const next = new OpenExecs(dir);
    assert.deepEqual(next.left(), [{ container: 'c1', mark: 'm2' }]);
    next.forget('m2');
    assert.deepEqual(new OpenExecs(dir).left(), []);
    fs.rmSync(dir, { recursive: true });
  });
});

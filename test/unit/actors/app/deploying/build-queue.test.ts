import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BuildQueue } from '../../../../../src/actors/app/deploying/build-queue.ts';
import { BuildTurns, type Queued } from '../../../../../src/actors/app/deploying/build-turns.ts';
import { eventually } from '../../../../support/eventually.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

function queued(id: string, more: Partial<Queued> = {}): Queued {
  return { id, teamId: 'team_a', buildTurn: 0, ...more };
}

function setUp(concurrency = 1) {
  const clock = new ManualClock();
  const queue = new BuildQueue({ concurrency, clock, retryMs: 1000 });
  const asked: string[] = [];
  const slots = new Map<string, () => void>();
  /** As an actor does: asks for a slot, and again when its turn has come. */
  const enter = (id: string, more: Partial<Queued> = {}): boolean => {
    const giveBack = queue.enter(queued(id, more), () => {
      asked.push(id);
      enter(id, more);
      return Promise.resolve();
    });
    if (giveBack !== undefined) slots.set(id, giveBack);
    return giveBack !== undefined;
  };
  const giveBack = (id: string): void => {
    slots.get(id)?.();
  };
  return { clock, queue, asked, slots, enter, giveBack };
}

const never = (): Promise<void> => new Promise(() => undefined);

describe('BuildQueue', () => {
  it('gives a free slot to the deployment that was made first', () => {
    const { queue, asked, slots, enter, giveBack } = setUp();
    assert.ok(enter('dpl_0'));
    for (const id of ['dpl_3', 'dpl_1', 'dpl_2']) assert.ok(!enter(id));
    assert.ok(queue.isWaiting('dpl_3'));
    for (const id of ['dpl_0', 'dpl_0', 'dpl_1', 'dpl_2']) giveBack(id);
    assert.deepEqual(asked, ['dpl_1', 'dpl_2', 'dpl_3']);
    assert.ok(!queue.isWaiting('dpl_3'));
    assert.equal(slots.size, 4);
  });

  it('lets nobody past one whose turn has come and who has not taken it yet', () => {
    const { queue, enter, giveBack } = setUp();
    enter('dpl_0');
    queue.enter(queued('dpl_1'), never);
    giveBack('dpl_0');
    assert.ok(!enter('dpl_2'), 'the slot is for the first');
    assert.ok(enter('dpl_1'));
    assert.ok(!queue.isWaiting('dpl_1'));
  });

  it('asks the next one when the one whose turn it is leaves', () => {
    const { queue, asked, enter, giveBack } = setUp();
    enter('dpl_0');
    queue.enter(queued('dpl_1'), never);
    enter('dpl_2');
    queue.leave('dpl_none');
    giveBack('dpl_0');
    assert.deepEqual(asked, []);
    queue.leave('dpl_1');
    assert.deepEqual(asked, ['dpl_2']);
  });

  it('lets those behind go on when one cannot be asked, and asks it again later', async () => {
    const { clock, queue, asked, enter, giveBack } = setUp();
    enter('dpl_0');
    let reached = false;
    queue.enter(queued('dpl_1'), () => {
      if (!reached) return Promise.reject(new Error('not reached'));
      enter('dpl_1');
      return Promise.resolve();
    });
    enter('dpl_2');
    giveBack('dpl_0');
    await eventually('the second is asked', () => asked.length > 0);
    assert.deepEqual(asked, ['dpl_2']);
    assert.ok(queue.isWaiting('dpl_1'));
    reached = true;
    await clock.advance(1000);
    assert.ok(queue.isWaiting('dpl_1'), 'there is no slot');
    giveBack('dpl_2');
    assert.ok(!queue.isWaiting('dpl_1'));
  });

  it('does not ask all there are when nobody can be asked, and goes on later', async () => {
    const { clock, queue, enter, giveBack } = setUp();
    enter('dpl_0');
    let asks = 0;
    for (let i = 1000; i < 1500; i++) {
      queue.enter(queued(`dpl_${i}`), () => {
        asks += 1;
        return Promise.reject(new Error('closed'));
      });
    }
    giveBack('dpl_0');
    await eventually('some are asked', () => asks === 100);
    await clock.advance(999);
    assert.deepEqual([asks, queue.isWaiting('dpl_1000')], [100, true]);
    await clock.advance(1);
    assert.ok(asks > 100);
  });

  it('counts builds that were found running, also above its bound', () => {
    const { queue, asked, enter } = setUp();
    const found = [queue.adopt(), queue.adopt()];
    assert.ok(!enter('dpl_1'));
    found[0]?.();
    assert.deepEqual(asked, []);
    found[1]?.();
    assert.deepEqual(asked, ['dpl_1']);
  });

  it('has as many slots as builds at a time', () => {
    const { asked, enter, giveBack } = setUp(2);
    assert.deepEqual(
      ['dpl_0', 'dpl_1', 'dpl_2', 'dpl_3'].map((id) => enter(id)),
      [true, true, false, false],
    );
    giveBack('dpl_1');
    assert.deepEqual(asked, ['dpl_2']);
  });

  it('refuses a concurrency that is none', () => {
    assert.throws(() => setUp(0), RangeError);
  });

  it('lets teams take turns, each in its own order', () => {
    const { queue, asked, enter, giveBack } = setUp();
    const ask = (id: string, teamId: string): void => {
      enter(id, { teamId, buildTurn: queue.nextTurn(id, teamId) });
    };
    for (const id of ['dpl_0', 'dpl_1', 'dpl_2', 'dpl_3', 'dpl_4', 'dpl_5']) ask(id, 'team_a');
    ask('dpl_6', 'team_b');
    ask('dpl_7', 'team_b');
    giveBack('dpl_0');
    assert.deepEqual(asked, ['dpl_6']);
    ask('dpl_8', 'team_c');
    for (const id of ['dpl_6', 'dpl_8', 'dpl_1', 'dpl_7', 'dpl_2', 'dpl_3', 'dpl_4']) giveBack(id);
    assert.deepEqual(asked, [
      ...['dpl_6', 'dpl_8', 'dpl_1', 'dpl_7', 'dpl_2', 'dpl_3', 'dpl_4', 'dpl_5'],
    ]);
  });
});

describe('BuildTurns', () => {
  it('puts nobody behind more than one build of each other team', () => {
    const turns = new BuildTurns([]);
    const greedy = Array.from({ length: 50 }, (_, i) => turns.next(`a${String(i)}`, 'team_a'));
    assert.deepEqual(greedy.slice(0, 3), [0, 1, 2]);
    turns.begin({ id: 'a0', teamId: 'team_a', buildTurn: 0 });
    assert.equal(turns.next('b0', 'team_b'), 0);
    turns.begin({ id: 'a1', teamId: 'team_a', buildTurn: 1 });
    assert.equal(turns.next('b1', 'team_b'), 1);
    assert.equal(turns.next('c0', 'team_c'), 1);
  });

  it('counts none that will not build', () => {
    const turns = new BuildTurns([]);
    for (let i = 0; i < 50; i++) {
      turns.next(`a${String(i)}`, 'team_a');
      turns.drop(`a${String(i)}`);
    }
    assert.equal(turns.next('last', 'team_a'), 0);
  });

  it('goes on behind a restart where it was', () => {
    const old = { id: 'old', teamId: 'team_o' };
    const stored = [7, 8, 9].map((buildTurn) => ({
      id: `a${buildTurn}`,
      teamId: 'team_a',
      buildTurn,
    }));
    const turns = new BuildTurns(stored);
    assert.equal(turns.next('b', 'team_b'), 7);
    assert.equal(turns.next('a', 'team_a'), 10);
    assert.equal(new BuildTurns([old, ...stored]).next('b', 'team_b'), 0);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { type MoveHost, Moves } from '../../../../src/actors/move/moves.ts';
import type { HeldFor } from '../../../../src/actors/restore/held.ts';
import type { WorkloadCore, WorkloadRecord } from '../../../../src/actors/workload/core.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { Place, UidRange } from '../../../../src/places/place.ts';
import type { MoveRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { noLog } from '../../../support/runner.ts';

const [here, there] = ['srv_local', 'srv_other'];
const minuteMs = 60_000;

interface World {
  clock: ManualClock;
  /** What was done, in order. */
  done: string[];
  core: FakeCore;
  /** Changed by a test. */
  is: {
    idle: boolean;
    stopped: boolean;
    away: string | null;
    startError: Error | null;
    restored: boolean;
    draining: boolean;
    known: boolean;
    /** Holds up a removal. */
    removing: Promise<void> | null;
    /** A tree that cannot be packed while it runs. */
    changing: string | null;
  };
  moves: () => Moves<WorkloadRecord, never, never>;
  move: (serverId: string) => Promise<unknown>;
  /** Alarms that are set, by when they are due from now. */
  alarms: () => number[];
  tidy: () => Promise<void>;
}

/** The parts of the real one that moves use. */
class FakeCore {
  readonly id = 'app_1';
  readonly kind = { name: 'app', table: tables.apps } as const;
  heldFor: HeldFor | null = null;
  readonly durable = Promise.resolve();
  record: WorkloadRecord = {
    ...{ id: 'app_1', teamId: 'team_1', serverId: here, name: 'Web', folderId: null },
    ...{ status: 'active', desired: 'running', uid: 200_001, resources: {} as never },
    ...{ updatedAtMs: 0, deletedAtMs: null },
  };

  require(): WorkloadRecord {
    return this.record;
  }

  save(patch: Partial<WorkloadRecord>): WorkloadRecord {
    this.record = { ...this.record, ...patch };
    return this.record;
  }

  get uid(): number | null {
    return this.record.uid > 0 ? this.record.uid : null;
  }

  hold(holder: HeldFor): void {
    this.heldFor = holder;
  }

  letGo(): void {
    this.heldFor = null;
  }
}

function world(uids: UidRange | null = { first: 200_000, last: 201_000 }): World {
  const clock = new ManualClock();
  const done: string[] = [];
  const is: World['is'] = {
    ...{ idle: true, stopped: true, restored: false, draining: false, known: true },
    ...{ away: null, startError: null, changing: null, removing: null },
  };
  const reader = {
    get: (_table: unknown, key: string) =>
      key === there && is.known ? { agent: {}, draining: is.draining } : undefined,
    list: () => [],
    count: (table: unknown) => (table === tables.restoreRuns && is.restored ? 1 : 0),
  };
  const core = new FakeCore();
  let alarmAtMs: number[] = [];
  const away = (serverId: string): void => {
    if (is.away === serverId) throw new ServiceError('AGENT_UNREACHABLE', 'It is away.');
  };
  const place = (serverId: string) => ({
    serverId,
    driver: { runs: 'host' },
    machine: async () => {
      await settle();
      away(serverId);
      const app = ({ uid }: { uid: number | null }) => files(serverId, uid);
      return { app, uids: uids && { app: uids, database: uids } };
    },
  });
  const files = (serverId: string, uid: number | null) => ({
    ensure: () => Promise.resolve(),
    trees: {
      async *pack(tree: string) {
        away(serverId);
        if (is.changing === tree && !done.includes('stop')) {
          throw new ServiceError('CONFLICT', 'no');
        }
        yield await Promise.resolve(Buffer.from(tree));
      },
      async fill(tree: string, tar: AsyncIterable<Uint8Array>) {
        for await (const bytes of tar) away(bytes.length > 0 ? serverId : '');
        done.push(`fill ${tree} at ${serverId} for ${String(uid)}`);
      },
    },
    remove: async () => {
      away(serverId);
      await is.removing;
      done.push(`remove at ${serverId}`);
    },
  });
  const host = {
    log: 'app:app_1',
    check: () => Promise.resolve(),
    fixed: () => ['dpl_1'],
    isIdle: () => is.idle,
    stop: () => done.push('stop'),
    isStopped: () => is.stopped,
    start: () => {
      done.push(`start at ${core.record.serverId}`);
      if (is.startError === null) return Promise.resolve();
      is.stopped = false;
      return Promise.reject(is.startError);
    },
    released: () => done.push('released'),
    forget: () => done.push('forget'),
    moved: () => [],
  } as unknown as MoveHost;
  const ended = new AbortController();
  const context = {
    signal: ended.signal,
    afterCommit: (effect: () => void) => effect(),
    commit: () => Promise.resolve(),
    alarm: (_name: string, atMs: number) => {
      alarmAtMs.push(atMs);
      return {};
    },
    clearAlarm: () => {
      alarmAtMs = [];
      return {};
    },
    work: (_name: string, work: (signal: AbortSignal) => Promise<void>) => void work(ended.signal),
    report: async (change: () => unknown, stop?: AbortSignal) => {
      stop?.throwIfAborted();
      return await Promise.resolve(change());
    },
  };
  const deps = { reader, clock, logger: noLog, streams: { write: () => undefined } };
  const whole = Object.assign(core, { context, deps, placeAt: (id: string) => place(id) as unknown as Place }); // prettier-ignore
  const make = (): World['moves'] => {
    const moves = new Moves(whole as unknown as WorkloadCore<WorkloadRecord, never, never>, host);
    return () => moves;
  };
  const moves = make();
  return {
    ...{ clock, done, core, is, moves },
    move: (serverId) => moves().handlers.move({ serverId }),
    alarms: () => {
      const due = alarmAtMs.map((atMs) => atMs - clock.now());
      alarmAtMs = [];
      return due;
    },
    tidy: async () => {
      moves().handlers['move-tidy']();
      await settle();
    },
  };
}

async function over({ core, clock }: World): Promise<MoveRecord> {
  for (let i = 0; i < 100 && core.record.move?.endedAtMs == null; i++) await clock.advance(100);
  assert.ok(core.record.move?.endedAtMs);
  return core.record.move;
}

describe('a move', () => {
  it('copies what does not change first, stops it for its data, and starts it there', async () => {
    const made = world();
    const { core, done, is } = made;
    [is.idle, is.stopped] = [false, false];
    await made.move(there);
    assert.equal(core.heldFor, 'move');
    assert.deepEqual(made.alarms(), [minuteMs]);
    await made.clock.advance(1_000);
    assert.deepEqual(done, []);
    is.idle = true;
    await made.clock.advance(1_000);
    assert.deepEqual(done, [`fill dpl_1 at ${there} for 200001`, 'stop']);
    assert.equal(core.record.serverId, here);
    is.stopped = true;
    const { phase } = await over(made);
    assert.equal(phase, 'done');
    const rest = [`fill data at ${there} for 200001`, `start at ${there}`, 'released'];
    assert.deepEqual(done.slice(2), rest);
    assert.deepEqual([core.record.serverId, core.heldFor], [there, null]);
    assert.deepEqual(made.alarms(), [0]);
    await made.tidy();
    assert.equal(done.at(-1), `remove at ${here}`);
    assert.deepEqual(made.alarms(), []);
  });

  it('asks a server that is away every ten minutes whether what is left there can be removed', async () => {
    const made = world();
    await made.move(there);
    await over(made);
    made.alarms();
    made.is.away = here;
    await made.tidy();
    assert.equal(made.alarms().at(-1), 10 * minuteMs);
    assert.equal(made.core.record.move?.hasLeftover, true);
    made.is.away = null;
    await made.tidy();
    assert.equal(made.core.record.move.hasLeftover, false);
  });

  it('waits for no removal, is not moved again before that is over, and is woken behind a crash meanwhile', async () => {
    const made = world();
    await made.move(there);
    await over(made);
    made.alarms();
    const removal = Promise.withResolvers<undefined>();
    made.is.removing = removal.promise;
    await made.tidy();
    await made.tidy();
    assert.deepEqual(made.alarms(), [minuteMs, minuteMs]);
    const tooSoon = assert.rejects(made.move(here), { code: 'CONFLICT', message: /still to be removed/ }); // prettier-ignore
    await settle();
    await made.clock.advance(10_000);
    await tooSoon;
    const patient = made.move(here);
    removal.resolve(undefined);
    await patient;
    assert.deepEqual(
      made.done.filter((step) => step.startsWith('remove')),
      [`remove at ${here}`],
    );
    assert.equal((await over(made)).phase, 'done');
  });

  it('tries a removal again when it is to be moved again', async () => {
    const made = world();
    await made.move(there);
    await over(made);
    made.is.away = here;
    await made.tidy();
    await assert.rejects(made.move(here), { code: 'CONFLICT', message: /still to be removed/ });
    made.is.away = null;
    await made.move(here);
  });

  it('is woken behind a crash however long it has copied', async () => {
    const made = world();
    made.is.idle = false;
    await made.move(there);
    made.alarms();
    await made.tidy();
    assert.deepEqual(made.alarms(), [minuteMs]);
  });

  it('stays where it was when the other server drains meanwhile, or is removed', async () => {
    for (const [change, error] of [
      [{ draining: true }, /is draining/],
      [{ known: false }, /names no server/],
    ] as const) {
      const made = world();
      made.is.idle = false;
      await made.move(there);
      Object.assign(made.is, change, { idle: true });
      const move = await over(made);
      assert.equal(move.phase, 'failed');
      assert.match(move.error ?? '', error);
      assert.equal(made.core.record.serverId, here);
      assert.ok(!made.done.includes(`start at ${there}`));
    }
  });

  it('keeps what is left of it elsewhere when its own server is not known any more', async () => {
    const made = world();
    await made.move(there);
    await over(made);
    made.is.known = false;
    await made.tidy();
    assert.ok(!made.done.some((step) => step.startsWith('remove')));
    assert.equal(made.core.record.move?.hasLeftover, true);
  });

  it('goes back when it is not well there, and waits 30 s at most for what runs there', async () => {
    const made = world();
    made.is.startError = new ServiceError('CONFLICT', 'It ended.');
    await made.move(there);
    await eventually('it has started there', () => made.done.includes(`start at ${there}`));
    await settle();
    await made.clock.advance(29_000);
    assert.equal(made.core.record.serverId, there);
    await made.clock.advance(2_000);
    const { phase, error } = await over(made);
    assert.deepEqual([phase, error], ['failed', 'It ended.']);
    assert.equal(made.core.record.serverId, here);
    assert.deepEqual(made.done.slice(-3), ['stop', 'forget', 'released']);
    made.is.stopped = true;
    await made.tidy();
    assert.equal(made.done.at(-1), `remove at ${there}`);
  });

  it('removes nothing of where it is', async () => {
    const made = world();
    await made.move(there);
    const move = await over(made);
    made.core.save({ serverId: here, move });
    await made.tidy();
    assert.ok(!made.done.some((step) => step.startsWith('remove')));
  });

  it('has no uid of its own where the other machine gives none, and gets one where it does', async () => {
    const none = world(null);
    await none.move(there);
    await over(none);
    assert.equal(none.core.record.uid, 0);
    const own = world();
    own.core.save({ uid: 0 });
    await own.move(there);
    await over(own);
    assert.equal(own.core.record.uid, 200_000);
  });

  it('ends behind a crash while it copied, and goes on where it had only to start', async () => {
    const interrupted = (phase: MoveRecord['phase'], serverId: string) => {
      const made = world();
      made.core.save({
        serverId,
        move: {
          ...{ fromServerId: here, toServerId: there, phase, bytes: 0, error: null },
          ...{ fromUid: 200_001, toUid: 200_001, hasLeftover: false },
          ...{ startedAtMs: 1, endedAtMs: null },
        },
      });
      made.moves().resume();
      assert.equal(made.core.heldFor, 'move');
      return made;
    };
    const copying = interrupted('copying', here);
    assert.equal((await over(copying)).error, 'Gangway ended while its files were copied.');
    assert.deepEqual(copying.done, ['released']);
    const starting = interrupted('starting', there);
    assert.equal((await over(starting)).phase, 'done');
    assert.deepEqual(starting.done, [`start at ${there}`, 'released']);
  });

  it('is one at a time, and is taken back by a move to where it came from', async () => {
    const made = world();
    made.is.idle = false;
    await made.move(there);
    await assert.rejects(made.move(there), { code: 'CONFLICT' });
    await made.move(here);
    const { phase, error } = await over(made);
    assert.deepEqual([phase, error], ['failed', 'Somebody wanted it to stay where it was.']);
    await assert.rejects(made.move(here), { code: 'CONFLICT' });
    await assert.rejects(made.move('srv_none'), { code: 'BAD_USER_INPUT' });
  });

  it('copies once more what changed while it ran, and waits for no restore', async () => {
    const made = world();
    made.is.changing = 'dpl_1';
    await made.move(there);
    assert.equal((await over(made)).phase, 'done');
    const first = ['stop', `fill dpl_1 at ${there} for 200001`, `fill data at ${there} for 200001`];
    assert.deepEqual(made.done.slice(0, 3), first);
    made.is.restored = true;
    await assert.rejects(made.move(here), { code: 'RESTORE_RUNNING' });
  });
});

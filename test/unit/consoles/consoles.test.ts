import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Consoles } from '../../../src/consoles/consoles.ts';
import type { ConsoleStanding } from '../../../src/consoles/consoles.ts';
import type { NamedConsole, OpenConsole } from '../../../src/consoles/console-door.ts';
import type { Terminal, TerminalEvents } from '../../../src/drivers/driver.ts';
import { FakeTerminal } from '../../support/fake-terminal.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { MemorySink } from '../../support/memory-sink.ts';
import { noLog } from '../../support/runner.ts';

const person = { kind: 'person', userId: 'usr_1', sessionId: 'ses_1', teamId: null } as const;
const target = { kind: 'app', id: 'app_1' } as const;
const wanted: OpenConsole = {
  person,
  target,
  container: '',
  cols: 80,
  rows: 24,
  mode: 'shell',
  address: '127.0.0.1',
  userAgent: '',
};
const minuteMs = 60_000;

describe('Consoles', () => {
  let clock: ManualClock;
  let consoles: Consoles;
  let terminals: FakeTerminal[];
  let standing: ConsoleStanding;
  /** Sign-ins that ended. */
  let signedOut: Set<string>;
  let rightsChanged: () => void;
  let told: string[];
  let opening: () => Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    terminals = [];
    standing = 'allowed';
    signedOut = new Set();
    told = [];
    opening = () => Promise.resolve();
    const openTerminal = async (
      _id: string,
      _spec: object,
      events: TerminalEvents,
    ): Promise<Terminal> => {
      const terminal = new FakeTerminal(events);
      terminals.push(terminal);
      await opening();
      return terminal;
    };
    consoles = new Consoles({
      driverOf: () => ({ openTerminal, attach: openTerminal }),
      programs: { program: () => Promise.resolve({ workloadId: 'w-1', command: [], env: {} }) },
      teamOf: ({ id }) => (id === target.id ? 'team_1' : 'team_2'),
      standing: ({ sessionId }) => (signedOut.has(sessionId) ? 'refused' : standing),
      onRightsChange: (callback) => {
        rightsChanged = callback;
        return () => undefined;
      },
      onOpened: () => told.push('opened'),
      onEnded: (_opened, _id, why) => told.push(why),
      logger: noLog,
      clock,
      maxPerPerson: 3,
      maxPerTeam: 4,
      max: 6,
    });
  });

  const open = async (
    more: Partial<OpenConsole> = {},
  ): Promise<{ named: NamedConsole; sink: MemorySink; left: () => void }> => {
    const sessionId = await consoles.open({ ...wanted, ...more });
    const named = { sessionId, person, target };
    const sink = new MemorySink();
    return { named, sink, left: consoles.watch(named, sink) };
  };
  const last = (): FakeTerminal => {
    const terminal = terminals.at(-1);
    assert.ok(terminal);
    return terminal;
  };

  it('keeps a console a minute for who dropped out, and no longer', async () => {
    const { named, left } = await open();
    left();
    last().show('unseen');
    await clock.advance(minuteMs - 1);
    assert.equal(last().closed, false);
    const again = new MemorySink();
    consoles.watch(named, again)();
    assert.equal(again.text, 'unseen');
    await clock.advance(minuteMs - 1);
    assert.equal(last().closed, false);
    await clock.advance(2);
    assert.equal(last().closed, true);
    assert.deepEqual(told, ['opened', 'left']);
    await assert.rejects(consoles.write(named, Buffer.from('x')), { code: 'NO_SUCH_SESSION' });
  });

  it('keeps one that nobody came to watch a minute, too', async () => {
    await consoles.open(wanted);
    await clock.advance(minuteMs + 1);
    assert.equal(last().closed, true);
    assert.equal(consoles.size, 0);
  });

  it('ends one into which nobody typed for half an hour, output or not', async () => {
    const { named, sink } = await open();
    await clock.advance(29 * minuteMs);
    await consoles.write(named, Buffer.from('x'));
    await consoles.resize(named, { cols: 9, rows: 9 });
    await clock.advance(29 * minuteMs);
    last().show('busy');
    await consoles.resize(named, { cols: 10, rows: 10 });
    assert.equal(sink.ended, false);
    await clock.advance(minuteMs + 1);
    assert.equal(sink.kinds.at(-1), 'exit');
    assert.deepEqual(told, ['opened', 'idle']);
    assert.deepEqual(last().sizes, ['9x9', '10x10']);
  });

  it('makes the program wait for a slow reader, and go on without one', async () => {
    const { sink, left } = await open();
    sink.room = 1;
    for (let i = 0; i < 60; i++) last().show('x'.repeat(4096));
    assert.equal(last().paused, true);
    left();
    assert.equal(last().paused, false);
  });

  it('lets who comes back take over from a slow reader', async () => {
    const { named, sink } = await open();
    sink.room = 1;
    for (let i = 0; i < 60; i++) last().show('x'.repeat(4096));
    const second = new MemorySink();
    consoles.watch(named, second);
    assert.equal(last().paused, false);
    assert.equal(sink.kinds.at(-1), 'failure');
    assert.ok(sink.ended);
    last().show('for the second');
    await clock.advance(100);
    assert.ok(second.text.endsWith('for the second'));
    assert.ok(!sink.text.includes('for the second'));
  });

  it('shows a program that ended before anybody watched', async () => {
    opening = async () => {
      last().show('first and last');
      last().events.exit({ code: 1, lost: false });
      await settle();
    };
    const { sink, named } = await open();
    assert.deepEqual(sink.kinds, ['session', 'data', 'exit']);
    assert.ok(sink.ended);
    assert.equal(consoles.size, 0);
    assert.deepEqual(told, ['opened', 'exited']);
    const again = new MemorySink();
    consoles.watch(named, again);
    assert.deepEqual(again.kinds, ['failure']);
  });

  it('shows what a program said last to who was away when it ended, once', async () => {
    const { named, left } = await open();
    left();
    last().show('the last words');
    last().events.exit({ code: 0, lost: false });
    assert.deepEqual(told, ['opened', 'exited']);
    await assert.rejects(consoles.write(named, Buffer.from('x')), { code: 'NO_SUCH_SESSION' });
    await consoles.admit(named, { cols: 9, rows: 9 });
    const again = new MemorySink();
    consoles.watch(named, again);
    assert.equal(again.text, 'the last words');
    assert.equal(again.kinds.at(-1), 'exit');
    await assert.rejects(consoles.admit(named, null), { code: 'NO_SUCH_SESSION' });
    assert.equal(consoles.size, 0);
  });

  it('keeps that for a minute, and of a runner that was lost the reason', async () => {
    const { named, left } = await open();
    left();
    last().events.exit({ code: null, lost: true });
    await clock.advance(minuteMs - 1);
    const again = new MemorySink();
    consoles.watch(named, again);
    assert.equal(again.kinds.at(-1), 'failure');
    const other = await open();
    other.left();
    last().events.exit({ code: 0, lost: false });
    await clock.advance(minuteMs + 1);
    assert.equal(consoles.size, 0);
    assert.deepEqual(told, ['opened', 'lost', 'opened', 'exited']);
  });

  it('gives up a client that does not take the end', async () => {
    const { sink } = await open();
    sink.room = 1;
    for (let i = 0; i < 10; i++) last().show('x'.repeat(4096));
    last().events.exit({ code: null, lost: true });
    assert.equal(sink.ended, false);
    await clock.advance(minuteMs + 1);
    assert.ok(sink.ended);
    assert.equal(sink.kinds.at(-1), 'failure');
    assert.equal(consoles.size, 0);
  });

  it('counts what is kept for who was away, until the place is needed', async () => {
    for (let i = 0; i < 3; i++) {
      const { left } = await open();
      left();
      last().events.exit({ code: 0, lost: false });
    }
    assert.equal(consoles.size, 3);
    await open();
    assert.equal(consoles.size, 3, 'the oldest gave its place');
  });

  it('lets a flood that nobody watches go on at the pace of one that is watched', async () => {
    const { left } = await open();
    left();
    let bytes = 0;
    for (let flush = 0; flush < 20; flush++) {
      while (!last().paused) {
        last().show('x'.repeat(4096));
        bytes += 4096;
      }
      await clock.advance(50);
      assert.equal(last().paused, false);
    }
    assert.equal(bytes, 20 * 64 * 1024);
  });

  it('shows who comes back during a flood what comes then', async () => {
    const { named, left } = await open();
    left();
    while (!last().paused) last().show('x'.repeat(4096));
    const again = new MemorySink();
    consoles.watch(named, again);
    assert.equal(last().paused, false);
    last().show('and on');
    await clock.advance(100);
    assert.ok(again.text.endsWith('and on'));
  });

  it('never makes the program of an app wait that is attached to', async () => {
    const { named, sink, left } = await open({ mode: 'attach' });
    sink.room = 1;
    for (let i = 0; i < 300; i++) last().show('x'.repeat(4096));
    assert.equal(last().paused, false);
    last().show('newest');
    sink.drain();
    for (let i = 0; i < 10; i++) await clock.advance(50);
    assert.ok(sink.text.endsWith('newest'));
    assert.ok(sink.text.length < 256 * 1024, String(sink.text.length));
    left();
    for (let i = 0; i < 300; i++) last().show('x'.repeat(4096));
    assert.equal(last().paused, false);
    assert.equal(await consoles.close(named), 'closed');
  });

  it('frees the place of a console that could not be opened', async () => {
    opening = () => Promise.reject(new Error('no'));
    for (let i = 0; i < 5; i++) await assert.rejects(consoles.open(wanted), /no/);
    opening = () => Promise.resolve();
    await open();
    assert.equal(consoles.size, 1);
    assert.deepEqual(told, ['opened']);
  });

  it('counts those of a person, also while they are being opened', async () => {
    const all = Array.from({ length: 5 }, () => consoles.open(wanted));
    const outcomes = await Promise.allSettled(all);
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
    const other = { ...wanted, person: { ...person, userId: 'usr_2' } };
    await consoles.open(other);
    const [first] = outcomes;
    assert.ok(first?.status === 'fulfilled');
    assert.equal(await consoles.close({ sessionId: first.value, person, target }), 'closed');
    assert.equal(await consoles.close({ sessionId: first.value, person, target }), 'gone');
    await consoles.open(wanted);
  });

  it('is refused when too many are open on the instance', async () => {
    const by = (userId: string): Promise<string> =>
      consoles.open({ ...wanted, person: { ...person, userId } });
    const elsewhere = (userId: string): Promise<string> =>
      consoles.open({
        ...wanted,
        target: { kind: 'app', id: 'app_2' },
        person: { ...person, userId },
      });
    const all = await Promise.all(['1', '1', '1', '2'].map(by));
    await Promise.all(['2', '2'].map(elsewhere));
    await assert.rejects(elsewhere('3'), { code: 'OVERLOADED' });
    await assert.rejects(by('1'), { code: 'TOO_MANY_STREAMS' });
    const two = { ...person, userId: '2' };
    await consoles.close({ sessionId: all[3] ?? '', person: two, target });
    await by('3');
  });

  it('leaves room for other teams, however many people of one open them', async () => {
    const by = (userId: string, id: string = target.id): Promise<string> =>
      consoles.open({ ...wanted, target: { kind: 'app', id }, person: { ...person, userId } });
    const all = await Promise.all(['1', '2', '3', '4'].map((userId) => by(userId)));
    await assert.rejects(by('5'), { code: 'OVERLOADED' });
    await Promise.all([by('5', 'app_2'), by('6', 'app_2')]);
    // One that has ended, and is kept for its last output, makes room.
    terminals[0]?.events.exit({ code: 0, lost: false });
    await by('4');
    assert.equal(all.length, 4);
  });

  it('follows its opener from one sign-in to another', async () => {
    const { named, sink } = await open();
    const later = { ...person, sessionId: 'ses_2' };
    const second = new MemorySink();
    consoles.watch({ ...named, person: later }, second);
    assert.equal(sink.kinds.at(-1), 'failure');
    signedOut.add(person.sessionId);
    rightsChanged();
    await clock.advance(500);
    assert.equal(second.ended, false);
    await consoles.write({ ...named, person: later }, Buffer.from('x'));
    signedOut.add(later.sessionId);
    rightsChanged();
    await clock.advance(500);
    assert.equal(second.kinds.at(-1), 'failure');
    assert.deepEqual(told, ['opened', 'refused']);
  });

  it('is taken from who lost the right, soon and with the next write', async () => {
    const one = await open();
    const two = await open();
    standing = 'refused';
    await assert.rejects(consoles.write(one.named, Buffer.from('x')), { code: 'FORBIDDEN' });
    assert.equal(one.sink.kinds.at(-1), 'failure');
    rightsChanged();
    await clock.advance(500);
    assert.equal(two.sink.kinds.at(-1), 'failure');
    assert.ok(terminals.every(({ closed, written }) => closed && written.length === 0));
    assert.deepEqual(told, ['opened', 'opened', 'refused', 'refused']);
  });

  it('is not opened for who lost the right meanwhile', async () => {
    opening = () => {
      standing = 'refused';
      return Promise.resolve();
    };
    await assert.rejects(consoles.open(wanted), { code: 'FORBIDDEN' });
    assert.equal(last().closed, true);
    assert.equal(consoles.size, 0);
  });

  it('ends with exit when what it is in was deleted', async () => {
    const { sink } = await open();
    standing = 'gone';
    rightsChanged();
    await clock.advance(500);
    assert.equal(sink.kinds.at(-1), 'exit');
  });

  it('refuses input beyond what may wait, and keeps what it took', async () => {
    const { named } = await open();
    last().unwritten = 1024 * 1024 - 10;
    await consoles.write(named, Buffer.alloc(10, 'a'));
    await assert.rejects(consoles.write(named, Buffer.alloc(11, 'a')), { code: 'RATE_LIMITED' });
    assert.equal(last().written.length, 1);
  });

  it('ends all with exit when it drains, and opens no more', async () => {
    const { sink } = await open();
    consoles.drain();
    assert.equal(sink.kinds.at(-1), 'exit');
    await assert.rejects(consoles.open(wanted), { code: 'SHUTTING_DOWN' });
    assert.equal(consoles.size, 0);
  });

  it('leaves no timer behind when all have ended', async () => {
    const { named } = await open();
    await consoles.close(named);
    await clock.advance(60 * minuteMs);
    assert.deepEqual(told, ['opened', 'closed']);
  });
});

import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { parseCursor } from '../../../../src/protocol/sse.ts';
import { eventually } from '../../../support/eventually.ts';
import { LogBench, log, person } from '../../../support/log-bench.ts';
import type { BenchOptions } from '../../../support/log-bench.ts';
import { MemorySink } from '../../../support/memory-sink.ts';

let bench: LogBench;
afterEach(() => {
  bench.remove();
});

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${String(from + i)}\n`).join('');
const write = (from: number, to: number) => {
  bench.streams.write(log, numbered(from, to));
};
const shows = async (sink: MemorySink, text: string) => {
  await eventually(`${String(text.length)} bytes of text`, () => sink.text.length >= text.length);
  assert.equal(sink.text, text);
};

for (const mirrored of [false, true]) {
  const where = mirrored ? 'a log stream on a thread that does not feed logs' : 'a log stream';
  describe(where, () => {
    suite((options) => (bench = new LogBench({ mirrored, ...options })));
  });
}

function suite(make: (options?: BenchOptions) => LogBench): void {
  it('starts with its session id, then history, then what comes', async () => {
    make();
    write(1, 20);
    const { sink, sessionId } = bench.open({ start: start({ tail: 5 }) });
    assert.deepEqual(sink.kinds, ['session']);
    assert.equal(JSON.parse(sink.events[0]?.data ?? ''), sessionId);
    await shows(sink, numbered(16, 20));
    write(21, 22);
    await shows(sink, numbered(16, 22));
    assert.equal(parseCursor(sink.lastId)?.offset, 22);
  });

  it('begins on a log that was never written and gets its first line', async () => {
    make();
    const { sink } = bench.open();
    write(1, 1);
    await shows(sink, numbered(1, 1));
  });

  it('resumes behind any id without loss or repeat, also the id of the session event', async () => {
    make();
    write(1, 50);
    const first = bench.open({ start: start({ tail: 0 }) });
    first.left();
    write(51, 60);
    const after = parseCursor(first.sink.lastId);
    const second = bench.open({ start: start({ after, tail: 0 }) });
    await shows(second.sink, numbered(51, 60));
    const third = bench.open({ start: start({ after: parseCursor(second.sink.lastId) }) });
    write(61, 61);
    await shows(third.sink, numbered(61, 61));
  });

  it('takes a cursor of another generation for none and says so', async () => {
    make();
    write(1, 3);
    const { sink } = bench.open({
      start: start({ after: { generation: 'zzzz', offset: 2 }, tail: 1 }),
    });
    await shows(sink, numbered(3, 3));
    assert.deepEqual(sink.comments, ['new generation']);
  });

  it('shows both variants from the same lines', async () => {
    make();
    const plain = bench.open();
    const stamped = bench.open({ timestamps: true });
    write(1, 3);
    await shows(plain.sink, numbered(1, 3));
    await eventually('three lines', () => stamped.sink.text.split('\n').length === 4);
    for (const line of stamped.sink.text.trimEnd().split('\n')) {
      assert.match(line, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z line \d$/);
    }
  });

  it('gives all that keep up the very same bytes', async () => {
    make();
    const viewers = Array.from({ length: 50 }, () => bench.open());
    write(1, 10);
    await eventually('all frames', () => viewers.every(({ sink }) => sink.chunks.length === 2));
    const [first] = viewers;
    for (const { sink } of viewers) assert.equal(sink.chunks[1], first?.sink.chunks[1]);
  });

  it('ends all frames of a flush at one line, though more come before the last is written', async () => {
    make();
    let hook = (): void => undefined;
    const hooked = new (class extends MemorySink {
      override write(chunk: Uint8Array): boolean {
        const taken = super.write(chunk);
        hook();
        return taken;
      }
    })();
    const first = bench.open({}, hooked);
    write(1, 2);
    await shows(first.sink, numbered(1, 2));
    write(3, 3);
    const second = bench.open();
    await shows(second.sink, numbered(1, 3));
    hook = () => {
      hook = () => undefined;
      write(5, 6);
    };
    write(4, 4);
    for (const { sink } of [first, second]) await shows(sink, numbered(1, 6));
    assert.ok(!Buffer.from(second.sink.chunks.at(-1) ?? []).includes('line 4'));
    assert.equal(first.sink.chunks.at(-1), second.sink.chunks.at(-1));
  });

  it('never writes a frame above 64 KiB and cuts between lines', async () => {
    make();
    const { sink } = bench.open();
    const lines = Array.from({ length: 400 }, (_, i) => `${'\u001b'.repeat(700)}${String(i)}\n`);
    bench.streams.write(log, lines.join(''));
    await shows(sink, lines.join(''));
    for (const chunk of sink.chunks) assert.ok(chunk.length <= 64 * 1024);
  });

  it('waits for a full socket, reads on from disk behind the ring, and loses nothing', async () => {
    make({ streams: { ringBytes: 4_000 } });
    const fast = bench.open();
    const slow = bench.open({}, Object.assign(new MemorySink(), { room: 2 }));
    write(1, 10);
    await shows(fast.sink, numbered(1, 10));
    await eventually('a stalled socket', () => slow.sink.room <= 0);
    const taken = slow.sink.chunks.length;
    for (let i = 0; i < 40; i++) write(11 + i * 100, 110 + i * 100);
    await shows(fast.sink, numbered(1, 4_010));
    assert.equal(slow.sink.chunks.length, taken);
    slow.sink.drain(1);
    await eventually('one more frame', () => slow.sink.chunks.length === taken + 1);
    slow.sink.drain();
    await shows(slow.sink, numbered(1, 4_010));
  });

  it('tells what retention took from a reader in the middle', async () => {
    make({ streams: { ringBytes: 4_000 } });
    const slow = bench.open({ notices: true }, Object.assign(new MemorySink(), { room: 2 }));
    write(1, 10);
    await eventually('a stalled socket', () => slow.sink.room <= 0);
    for (let i = 0; i < 40; i++) write(11 + i * 100, 110 + i * 100);
    await bench.writer.retain({ maxAgeMs: 1e9, quotaBytes: 20_000 });
    slow.sink.drain();
    await eventually('the last line', () => slow.sink.text.endsWith('line 4010\n'));
    const first = bench.writer.range(log)?.firstOffset ?? 0;
    assert.ok(first > 100);
    assert.deepEqual(slow.sink.comments, [`gap ${String(first - 11)} lines`]);
    const notice = slow.sink.events.find((event) => event.event === 'notice');
    assert.deepEqual(JSON.parse(notice?.data ?? ''), { kind: 'gap', lines: first - 11 });
    assert.equal(slow.sink.text, numbered(1, 10) + numbered(first, 4_010));
  });

  it('tells notices only who asked for them, between the lines they came between', async () => {
    make();
    const asked = bench.open({ notices: true });
    const other = bench.open();
    await eventually('a watched log', () => bench.streams.stats().channels === 1);
    write(1, 1);
    bench.streams.notice(log, {
      kind: 'deployment',
      deploymentId: 'dpl_1',
      status: 'ready',
      atMs: 1,
    });
    write(2, 2);
    await shows(asked.sink, numbered(1, 2));
    await shows(other.sink, numbered(1, 2));
    assert.deepEqual(asked.sink.kinds, ['session', 'data', 'notice', 'data']);
    assert.ok(!other.sink.kinds.includes('notice'));
  });

  it('ends with exit once all was read, for those behind as well', async () => {
    make();
    const fast = bench.open();
    const slow = bench.open({}, Object.assign(new MemorySink(), { room: 1 }));
    write(1, 2_000);
    bench.streams.end(log);
    await eventually('the end', () => fast.sink.ended);
    assert.equal(slow.sink.ended, false);
    slow.sink.drain();
    await eventually('the end', () => slow.sink.ended);
    for (const { sink } of [fast, slow]) {
      assert.equal(sink.text, numbered(1, 2_000));
      assert.equal(sink.kinds.at(-1), 'exit');
      assert.equal(sink.events.at(-1)?.data, '""');
    }
    assert.equal(bench.sessions.size, 0);
    await eventually('nobody watches', () => bench.streams.stats().channels === 0);
    const late = bench.open();
    await eventually('the end', () => late.sink.ended);
    assert.ok(late.sink.text.endsWith('line 2000\n'));
  });

  it('ends with exit when its log is dropped, and begins anew with a new one', async () => {
    make();
    write(1, 3);
    const fast = bench.open();
    await shows(fast.sink, numbered(1, 3));
    await bench.streams.drop(log);
    await eventually('the end', () => fast.sink.ended);
    write(1, 1);
    const fresh = bench.open();
    await shows(fresh.sink, numbered(1, 1));
  });

  it('is closed by who opened it, and by nobody else', () => {
    make();
    const { sink, sessionId } = bench.open();
    assert.equal(bench.sessions.close(sessionId, 'usr_two'), 'foreign');
    assert.equal(sink.ended, false);
    assert.equal(bench.sessions.close(sessionId, 'usr_one'), 'closed');
    assert.deepEqual(sink.kinds, ['session', 'exit']);
    assert.equal(bench.sessions.close(sessionId, 'usr_one'), 'gone');
  });

  it('is refused beyond the bound of a person, and opened again once one has left', () => {
    make({ sessions: { maxPerPerson: 2 } });
    const { left } = bench.open();
    bench.open();
    assert.throws(
      () => bench.open(),
      (error) => error instanceof ServiceError && error.code === 'TOO_MANY_STREAMS',
    );
    bench.open({ person: person('usr_two') });
    left();
    left();
    bench.open();
    assert.throws(() => bench.open(), /At most 2 log streams/);
  });

  it('fails when its person lost the right to it, and only then', async () => {
    const listeners: (() => void)[] = [];
    const lost = new Set<string>();
    make({
      sessions: {
        stillAllowed: ({ userId }) => !lost.has(userId),
        onRightsChange: (callback) => {
          listeners.push(callback);
          return () => undefined;
        },
      },
    });
    const one = bench.open();
    const two = bench.open({ person: person('usr_two') });
    lost.add('usr_two');
    for (const listener of listeners) listener();
    await eventually('the end', () => two.sink.ended);
    assert.deepEqual(two.sink.kinds, ['session', 'failure']);
    assert.equal(one.sink.ended, false);
  });

  it('is looked at now and then while rights change all the time, and behind the last change', async () => {
    const listeners: (() => void)[] = [];
    let allowed = true;
    let looks = 0;
    make({
      sessions: {
        stillAllowed: () => {
          looks += 1;
          return allowed;
        },
        onRightsChange: (callback) => {
          listeners.push(callback);
          return () => undefined;
        },
      },
    });
    const { sink } = bench.open();
    const change = (): void => {
      for (const listener of listeners) listener();
    };
    for (let i = 0; i < 1_000; i++) change();
    await eventually('the first look', () => looks === 1);
    allowed = false;
    for (let i = 0; i < 1_000; i++) change();
    await eventually('the end', () => sink.ended);
    assert.deepEqual(sink.kinds, ['session', 'failure']);
    assert.equal(looks, 2);
  });

  it('gets exit on a drain, after which none is opened', async () => {
    make();
    const viewers = Array.from({ length: 100 }, () => bench.open());
    viewers[3]?.sink.drain(0);
    await bench.sessions.drain();
    for (const { sink } of viewers) assert.equal(sink.kinds.at(-1), 'exit');
    assert.throws(
      () => bench.open(),
      (error) => error instanceof ServiceError && error.code === 'SHUTTING_DOWN',
    );
  });

  it('is pinged while its socket takes it, and not while it is full', async () => {
    make({ sessions: { pingEveryS: 1 } });
    const idle = bench.open();
    const full = bench.open({}, Object.assign(new MemorySink(), { room: 1 }));
    await eventually('two pings', () => idle.sink.comments.length >= 2);
    assert.deepEqual(new Set(idle.sink.comments), new Set(['ping']));
    assert.deepEqual(full.sink.comments, []);
  });

  it('fails with a reason when its lines cannot be read', async () => {
    make();
    write(1, 3);
    const { sink } = bench.open();
    bench.reader.read = () => {
      throw new Error('EIO');
    };
    await eventually('the end', () => sink.ended);
    assert.deepEqual(sink.kinds, ['session', 'failure']);
  });
}

function start(wishes: {
  after?: ReturnType<typeof parseCursor>;
  tail?: number;
  sinceMinutes?: number;
}) {
  return {
    after: wishes.after,
    tail: wishes.tail ?? 500,
    sinceMinutes: wishes.sinceMinutes,
  };
}

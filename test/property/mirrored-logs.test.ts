import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { ChannelView, WatchedLogs } from '../../src/logs/live/channel.ts';
import { LogFiles } from '../../src/logs/files/reader.ts';
import type { LogName } from '../../src/logs/files/log.ts';
import { eventually } from '../support/eventually.ts';
import { LogBench } from '../support/log-bench.ts';
import { mirrored } from '../support/mirrored-streams.ts';

// The timers under test keep no process alive.
let alive: NodeJS.Timeout;
before(() => {
  alive = setInterval(() => undefined, 1e6);
});
after(() => {
  clearInterval(alive);
});

const logs: LogName[] = ['build:one', 'build:two'];
const which = fc.nat(1);
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('write' as const), which, lines: fc.nat(30) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('notice' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), which }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('attach' as const), which, back: fc.nat(40) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('leave' as const), which: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const), which: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('home' as const), messages: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('thread' as const), messages: fc.nat(3) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Takes all there is, and remembers it. */
class Taker {
  readonly log: LogName;
  readonly view: ChannelView;
  readonly lines: string[] = [];
  readonly notices: [before: number, status: string][] = [];
  wakes = 0;
  #from: number;
  #noticed: number;

  constructor(from: WatchedLogs, log: LogName, back: number) {
    this.log = log;
    this.view = from.attach(log, () => this.wakes++);
    const { channel } = this.view;
    const end = channel.range()?.nextOffset ?? channel.nextOffset;
    this.#from = Math.max(1, end - back);
    this.#noticed = channel.noticeNumber;
  }

  take(): void {
    for (;;) {
      const { lines, nextOffset, gap } = this.view.take(this.#from, 500);
      assert.equal(gap, 0);
      this.lines.push(...lines.map((line) => Buffer.from(line.bytes).toString()));
      if (nextOffset === this.#from) break;
      this.#from = nextOffset;
    }
    for (const { number, before: at, notice } of this.view.channel.noticesAfter(this.#noticed)) {
      this.#noticed = number;
      this.notices.push([at, notice.kind === 'deployment' ? notice.status : '']);
    }
  }
}

interface Pair {
  log: LogName;
  /** All lines of the log it was attached to; the world goes on adding to them. */
  written: readonly string[];
  mirror: Taker;
  model: Taker;
}

class World {
  readonly bench = new LogBench({
    writer: { segmentBytes: 1_500 },
    streams: { ringBytes: 3_000, syncMs: 1e6 },
  });
  readonly pairs: Pair[] = [];
  readonly #mirrored = mirrored({
    streams: this.bench.streams,
    reader: new LogFiles(this.bench.dir),
    logger: this.bench.logger,
    ringBytes: 2_000,
    held: true,
  });
  readonly #written = new Map<LogName, string[]>();
  readonly #prompt: boolean;
  #count = 0;

  /** `prompt`: what the thread asks for is done before anything else happens, and it hears of drops. */
  constructor(prompt: boolean) {
    this.#prompt = prompt;
  }

  async run(now: Step): Promise<void> {
    const { bench } = this;
    const log = logs[now.do === 'leave' ? 0 : 'which' in now ? now.which % 2 : 0] ?? 'build:one';
    switch (now.do) {
      case 'write':
        this.#write(log, now.lines);
        break;
      case 'notice': {
        const status = `n${String(++this.#count)}`;
        bench.streams.notice(log, { kind: 'deployment', deploymentId: 'd', status, atMs: 1 });
        break;
      }
      case 'end':
        bench.streams.end(log);
        break;
      case 'drop':
        // Who attaches to a log without lines before it is said that it was dropped is done, too.
        if (this.linesOf(log).length === 0) break;
        await bench.streams.drop(log);
        this.#written.delete(log);
        // The same of one whose lines were not heard of.
        if (this.#prompt) await this.#hearOfDrop(log);
        break;
      case 'attach': {
        const mirror = new Taker(this.#mirrored.logs, log, now.back);
        if (this.#prompt) this.#mirrored.home.deliver(Infinity);
        const model = new Taker(bench.streams, log, now.back);
        this.pairs.push({ log, written: this.linesOf(log), mirror, model });
        break;
      }
      case 'leave': {
        const [gone] = this.pairs.splice(now.which, 1);
        gone?.mirror.view.detach();
        gone?.model.view.detach();
        break;
      }
      case 'take':
        this.pairs[now.which]?.mirror.take();
        this.pairs[now.which]?.model.take();
        break;
      case 'turn':
        await new Promise((resolve) => setTimeout(resolve, 3));
        break;
      case 'home':
        this.#mirrored.home.deliver(now.messages);
        break;
      case 'thread':
        this.#mirrored.thread.deliver(now.messages);
        break;
    }
    if (this.#prompt) this.#mirrored.home.deliver(Infinity);
  }

  async #hearOfDrop(log: LogName): Promise<void> {
    const { home, thread } = this.#mirrored;
    const viewed = this.pairs.filter((pair) => pair.log === log);
    await eventually('the drop is heard of', () => {
      home.deliver(Infinity);
      thread.deliver(Infinity);
      return viewed.every(({ mirror }) => mirror.view.channel.life === 'dropped');
    });
  }

  /** Everything said is heard, and both kinds of viewers have taken what there is. */
  async settle(): Promise<void> {
    const { home, thread } = this.#mirrored;
    await eventually(
      'mirrors know the same',
      () => {
        home.deliver(Infinity);
        thread.deliver(Infinity);
        for (const { mirror, model } of this.pairs) {
          mirror.take();
          model.take();
        }
        return this.pairs.every((pair) => this.#isSettled(pair));
      },
      2_000,
    );
  }

  /** Nobody watches what nobody views. */
  async finish(): Promise<void> {
    const { home, logs: mirrors } = this.#mirrored;
    for (const { mirror, model } of this.pairs) {
      mirror.view.detach();
      model.view.detach();
    }
    assert.equal(mirrors.stats().channels, 0);
    home.deliver(Infinity);
    assert.equal(this.bench.streams.stats().channels, 0);
    await this.bench.writer.close();
    this.bench.remove();
  }

  #isSettled({ log, written, mirror, model }: Pair): boolean {
    const { channel } = mirror.view;
    const dropped = written !== this.#written.get(log);
    if (dropped && (this.#prompt || channel.life === 'dropped')) return channel.life === 'dropped';
    const now = this.bench.streams.watch(log, () => undefined);
    const { life, nextOffset } = now.channel;
    const same = channel.life === life && channel.nextOffset === nextOffset;
    now.detach();
    // What happened before the thread's wish to watch was heard, it need not know.
    const known = !this.#prompt || mirror.notices.at(-1)?.[1] === model.notices.at(-1)?.[1];
    return same && (known || model.notices.length === 0);
  }

  #write(log: LogName, count: number): void {
    const lines = this.linesOf(log);
    const fresh = Array.from({ length: count }, () => `line ${String(++this.#count)}\n`);
    lines.push(...fresh);
    if (count > 0) this.bench.streams.write(log, fresh.join(''));
  }

  linesOf(log: LogName): string[] {
    const lines = this.#written.get(log) ?? [];
    this.#written.set(log, lines);
    return lines;
  }
}

describe('mirrored logs', () => {
  it('show what live logs show, with the same ends and the same notices in their places', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
        const world = new World(true);
        for (const now of steps) await world.run(now);
        await world.settle();
        for (const { mirror, model } of world.pairs) {
          assert.equal(mirror.view.channel.life, model.view.channel.life);
          if (mirror.view.channel.life === 'dropped') continue;
          assert.deepEqual(mirror.lines, model.lines);
          // Of a log that was mirrored, one of the last moment before it was attached to may come.
          const later = mirror.notices.length - model.notices.length;
          assert.deepEqual(mirror.notices.slice(later), model.notices);
          const statuses = mirror.notices.map(([, status]) => status);
          assert.equal(new Set(statuses).size, statuses.length);
        }
        await world.finish();
      }),
      { numRuns: 100 },
    );
  });

  it('lose and repeat no line, however late it is heard what the other thread says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
        const world = new World(false);
        for (const now of steps) await world.run(now);
        await world.settle();
        for (const { mirror, written } of world.pairs) {
          const [first] = mirror.lines;
          if (first === undefined) continue;
          // One that was attached to an empty log may have been heard of behind its drop.
          const all = written.includes(first) ? written : world.linesOf(mirror.log);
          const at = all.indexOf(first);
          const { length } = mirror.lines;
          assert.deepEqual(mirror.lines, all.slice(at, at + length));
          if (mirror.view.channel.life !== 'dropped') assert.equal(at + length, all.length);
        }
        await world.finish();
      }),
      { numRuns: 100 },
    );
  });
});

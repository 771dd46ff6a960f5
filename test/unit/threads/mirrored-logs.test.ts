import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { LogWatches } from '../../../src/threads/log-watches.ts';
import { LiveLogs } from '../../../src/logs/live/live-logs.ts';
import type { LogName } from '../../../src/logs/files/log.ts';
import { LogWriter } from '../../../src/logs/files/writer.ts';
import type { Store } from '../../../src/store/store.ts';
import { eventually } from '../../support/eventually.ts';
import { memoryLogger } from '../../support/memory-logger.ts';
import type { FromMirror, MirrorReport, ToMirror } from '../../support/mirror-worker.ts';
import { openedStore, temporaryFolder } from '../../support/store-fixture.ts';

const log: LogName = 'build:dpl_one';
const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${String(from + i)}\n`).join('');

async function home(t: TestContext) {
  const dir = await temporaryFolder(t);
  const store = await openedStore(t, { dir });
  const logger = memoryLogger();
  const logsDir = join(dir, 'logs');
  const writer = new LogWriter({ dir: logsDir, logger, segmentBytes: 16_384 });
  t.after(() => writer.close());
  const streams = new LiveLogs({ writer, logger, flushMs: 2 });
  return { store, logger, logsDir, writer, streams };
}

type Home = Awaited<ReturnType<typeof home>>;

/** A thread with viewers, as home knows it. */
class Thread {
  readonly watches: LogWatches;
  /** Moves arrive only while this is false. */
  deaf = false;
  /** How often it wished to watch a log. */
  wishes = 0;
  readonly #worker: Worker;
  readonly #waiting: ToMirror[] = [];
  readonly #taken = new Map<number, () => void>();
  #reported: (report: Extract<FromMirror, { tell: 'report' }>) => void = () => undefined;
  #batches = 0;

  constructor(t: TestContext, { store, logsDir, streams, logger }: Home) {
    this.#worker = new Worker(new URL('../../support/mirror-worker.ts', import.meta.url), {
      workerData: { follower: admitted(t, store), logsDir },
    });
    t.after(() => this.#worker.terminate());
    this.watches = new LogWatches({
      streams,
      logger,
      tell: (moves) =>
        new Promise<void>((resolve) => {
          const batch = ++this.#batches;
          this.#taken.set(batch, resolve);
          this.#waiting.push({ do: 'moved', batch, moves });
          this.#pass();
        }),
    });
    this.#worker.on('message', (message: FromMirror) => this.#hear(message));
  }

  send(message: ToMirror): void {
    this.#worker.postMessage(message);
  }

  /** Passes on what was held back. */
  hear(): void {
    this.deaf = false;
    this.#pass();
  }

  get held(): number {
    return this.#waiting.length;
  }

  async report(): Promise<Extract<FromMirror, { tell: 'report' }>> {
    const report = new Promise<Extract<FromMirror, { tell: 'report' }>>((resolve) => {
      this.#reported = resolve;
    });
    this.send({ do: 'report' });
    return await report;
  }

  async shows(viewer: number, text: string, life = 'open'): Promise<void> {
    for (let i = 0; i < 1_000; i++) {
      const { viewers, warnings } = await this.report();
      assert.equal(warnings, 0);
      const seen = viewers.find((one) => one.viewer === viewer);
      if (seen && seen.text.length >= text.length && seen.life === life) {
        assert.equal(seen.text, text);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const { viewers } = await this.report();
    assert.deepEqual(viewers, [{ viewer, text, life }] satisfies MirrorReport[]);
  }

  async end(): Promise<void> {
    this.send({ do: 'close' });
    await once(this.#worker, 'exit');
    this.watches.close();
  }

  #pass(): void {
    if (this.deaf) return;
    for (const message of this.#waiting.splice(0)) this.send(message);
  }

  #hear(message: FromMirror): void {
    switch (message.tell) {
      case 'watch':
        this.wishes++;
        this.watches.watch(message.message);
        return;
      case 'unwatch':
        this.watches.unwatch(message.message);
        return;
      case 'took':
        this.#taken.get(message.batch)?.();
        return;
      case 'report':
        this.#reported(message);
    }
  }
}

function admitted(t: TestContext, store: Store) {
  const follower = store.admitFollower();
  t.after(() => store.dismissFollower(follower));
  return follower;
}

describe('mirrored logs on threads', () => {
  it('show every line once on each of them, while the log is watched once on each', async (t) => {
    const at = await home(t);
    const threads = [new Thread(t, at), new Thread(t, at)];
    at.streams.write(log, numbered(1, 10));
    for (const thread of threads) {
      for (const viewer of [1, 2]) thread.send({ do: 'attach', viewer, log, from: 1 });
    }
    await eventually('both watch', () => threads.every((thread) => thread.wishes === 1));
    for (let i = 0; i < 200; i++) {
      at.streams.write(log, numbered(11 + i * 20, 30 + i * 20));
      if (i % 3 === 0) await new Promise(setImmediate);
    }
    for (const thread of threads) {
      for (const viewer of [1, 2]) await thread.shows(viewer, numbered(1, 4_010));
      assert.equal(thread.wishes, 1);
    }
    assert.equal(at.streams.stats().channels, 1);
    at.streams.end(log);
    for (const thread of threads) {
      await thread.shows(2, numbered(1, 4_010), 'ended');
      for (const viewer of [1, 2]) thread.send({ do: 'detach', viewer });
    }
    await eventually('nobody watches', () => at.streams.stats().channels === 0);
    for (const thread of threads) await thread.end();
  });

  it('end with a log that is dropped, and show the next one of its name from its start', async (t) => {
    const at = await home(t);
    const thread = new Thread(t, at);
    at.streams.write(log, numbered(1, 700));
    thread.send({ do: 'attach', viewer: 1, log, from: 1 });
    await thread.shows(1, numbered(1, 700));
    thread.deaf = true;
    await at.streams.drop(log);
    at.streams.write(log, numbered(1, 900));
    // Before it was told so, it sees the files.
    thread.send({ do: 'attach', viewer: 2, log, from: 1 });
    thread.hear();
    await thread.shows(2, numbered(1, 900));
    await thread.shows(1, numbered(1, 700), 'dropped');
    at.streams.write(log, numbered(901, 901));
    await thread.shows(2, numbered(1, 901));
    await thread.end();
  });

  it('gather no moves for a thread that does not take them', async (t) => {
    const at = await home(t);
    const thread = new Thread(t, at);
    thread.send({ do: 'attach', viewer: 1, log, from: 1 });
    await eventually('a watched log', () => at.streams.stats().channels === 1);
    thread.deaf = true;
    for (let i = 0; i < 50; i++) {
      at.streams.write(log, numbered(1 + i * 100, 100 + i * 100));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.ok(thread.held <= 1);
    thread.hear();
    await thread.shows(1, numbered(1, 5_000));
    await thread.end();
  });
});

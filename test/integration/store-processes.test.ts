import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { StoreRefusal } from '../../src/store/refusal.ts';
import { copyDataDirectory } from '../../src/store/files/snapshot.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { memoryLogger } from '../support/memory-logger.ts';
import { modelTables } from '../support/model-store.ts';
import { openedStore, temporaryFolder } from '../support/store-fixture.ts';

const program = fileURLToPath(new URL('../support/store-child.ts', import.meta.url));
const { things } = modelTables;

interface Child {
  process: ChildProcess;
  lines: string[];
  /** Resolves with the first line that the test accepts. */
  line(accept: (line: string) => boolean): Promise<string>;
}

function start(t: TestContext, mode: 'hold' | 'storm', dir: string): Child {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, mode, dir],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  t.after(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => {
    lines.push(line);
    for (const wake of waiting) wake();
  });
  return {
    process: child,
    lines,
    async line(accept) {
      for (;;) {
        const found = lines.find(accept);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            resolve();
          };
          waiting.add(wake);
        });
      }
    },
  };
}

async function kill(child: Child): Promise<void> {
  const closed = once(child.process, 'close');
  child.process.kill('SIGKILL');
  await closed;
}

const outcome = (line: string): boolean => line === 'open' || line.startsWith('refused');

/** Every index entry leads to a record that has it, and every record is found by its indexes. */
function assertIndexed(store: Store): void {
  const records = [...store.scan(things)];
  for (const record of records) {
    if (record.slug !== null)
      assert.equal(store.find(things, 'slug', [record.slug])?.id, record.id);
  }
  const ids = records.map((r) => r.id).sort();
  for (const index of ['group', 'tag'] as const) {
    const listed = store.list(things, index, [], { limit: 10_000 });
    assert.deepEqual(listed.map((r) => r.id).sort(), ids);
  }
  const slugs = records.filter((r) => r.slug !== null);
  assert.equal(store.count(things, 'slug', []), slugs.length);
}

describe('a store and its processes', () => {
  it('keeps every answered commit through kill -9, with its indexes', async (t) => {
    const dir = await temporaryFolder(t);
    for (let round = 1; round <= 3; round++) {
      const child = start(t, 'storm', dir);
      const target = round * 100;
      await child.line(() => child.lines.length > target);
      await kill(child);
      const answered = new Map<string, number>();
      let newest = 0;
      for (const line of child.lines) {
        const [actor, rank, position] = line.split(' ');
        if (actor === undefined || position === undefined) continue;
        answered.set(actor, Number(rank));
        newest = Math.max(newest, Number(position));
      }
      const store = await openStore({ dir, tables: modelTables, logger: memoryLogger() });
      t.after(() => store.close());
      assert.ok(store.position >= newest);
      for (const [actor, rank] of answered) {
        const record = store.get(things, actor);
        // One commit a writer may have been durable without its answer getting out.
        assert.ok(record?.rank === rank || record?.rank === rank + 1, `${actor} ${String(rank)}`);
        assert.equal(store.get(things, `${actor}:old`) === undefined, record.rank % 3 === 0);
      }
      assertIndexed(store);
      await store.close();
    }
  });

  it('is copied from beside, at one state, while its process goes on committing', async (t) => {
    const folder = await temporaryFolder(t);
    const dir = join(folder, 'data');
    const child = start(t, 'storm', dir);
    await child.line(() => child.lines.length > 50);
    await copyDataDirectory(dir, join(folder, 'copy'), { withKey: false });
    const until = child.lines.length;
    await child.line(() => child.lines.length > until + 50);
    const copy = await openedStore(t, { dir: join(folder, 'copy'), tables: modelTables });
    assert.ok(copy.position > 0);
    for (const { id, rank } of copy.scan(things)) {
      if (!id.endsWith(':old')) {
        assert.equal(copy.get(things, `${id}:old`)?.rank ?? rank, rank);
      }
    }
    assertIndexed(copy);
    await kill(child);
  });

  it('belongs to one process at a time, and to the next one as soon as that is killed', async (t) => {
    const dir = await temporaryFolder(t);
    const first = start(t, 'hold', dir);
    assert.equal(await first.line(outcome), 'open');
    const pid = String(first.process.pid);
    await assert.rejects(
      openStore({ dir, tables: modelTables, logger: memoryLogger() }),
      (error: unknown) =>
        error instanceof StoreRefusal && error.message.includes(`another process (pid ${pid})`),
    );
    const second = start(t, 'hold', dir);
    assert.match(await second.line(outcome), /^refused: .*in use by another process/);
    await kill(first);
    await openedStore(t, { dir, tables: modelTables });
  });

  it('is refused to a second opening in the same process, until the first is closed', async (t) => {
    const dir = await temporaryFolder(t);
    const store = await openedStore(t, { dir, tables: modelTables });
    await assert.rejects(
      openStore({ dir, tables: modelTables, logger: memoryLogger() }),
      StoreRefusal,
    );
    await store.close();
    await openedStore(t, { dir, tables: modelTables });
  });

  it('goes to one of several processes that start at once', async (t) => {
    const dir = await temporaryFolder(t);
    const children = Array.from({ length: 4 }, () => start(t, 'hold', dir));
    const outcomes = await Promise.all(children.map((child) => child.line(outcome)));
    assert.equal(outcomes.filter((line) => line === 'open').length, 1);
    assert.equal(outcomes.filter((line) => line.startsWith('refused')).length, 3);
  });
});

/**
 * A process that uses a store: `hold <dir>` opens it and says so; `storm <dir>` commits without
 * end, a line with the position for each commit that was answered.
 */
import { writeSync } from 'node:fs';
import { StoreRefusal } from '../../src/store/refusal.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { put, remove } from '../../src/store/records/table.ts';
import { memoryLogger } from './memory-logger.ts';
import { modelTables } from './model-store.ts';

const [, , mode = '', dir = ''] = process.argv;
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

/** One writer: its record counts its commits; every third commit also moves a unique slug. */
async function write(store: Store, actor: string): Promise<never> {
  const epoch = store.nextEpoch(actor);
  const { things } = modelTables;
  for (let rank = 1; ; rank++) {
    const record = { id: actor, slug: `${actor}-${String(rank)}`, group: 'g', rank, tags: ['t'] };
    const changes = [
      put(things, record),
      put(things, { ...record, id: `${actor}:old`, slug: null }),
    ];
    if (rank % 3 === 0) changes.push(remove(things, `${actor}:old`));
    const position = await store.commit({ actor, epoch, changes });
    say(`${actor} ${String(rank)} ${String(position)}`);
  }
}

try {
  const store = await openStore({ dir, tables: modelTables, logger: memoryLogger() });
  say('open');
  if (mode === 'storm') {
    await Promise.all(Array.from({ length: 20 }, (_, i) => write(store, `w${String(i)}`)));
  }
  process.stdin.resume();
} catch (error) {
  if (!(error instanceof StoreRefusal)) throw error;
  say(`refused: ${error.message}`);
}

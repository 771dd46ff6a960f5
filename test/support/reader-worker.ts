/** A thread that answers queries from a reader of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import { openReader, type ReaderOptions } from '../../src/store/store.ts';
import type { KeyPart } from '../../src/store/records/table.ts';
import { modelTables } from './model-store.ts';

interface Query {
  table: 'things' | 'pairs';
  index: string;
  prefix: KeyPart[];
  options: { after?: KeyPart[]; limit?: number; reverse?: boolean };
}

const reader = openReader(workerData as ReaderOptions, modelTables);
parentPort?.on('message', (message: Query[] | 'close') => {
  if (message === 'close') {
    void reader.close().then(() => parentPort?.close());
    return;
  }
  const list = ({ table, index, prefix, options }: Query): unknown[] =>
    reader.list(modelTables[table] as never, index as never, prefix, options);
  parentPort?.postMessage({
    position: reader.position,
    things: [...reader.scan(modelTables.things)],
    got: ['a', 'b', 'c', 'd', 'e'].map((id) => reader.get(modelTables.things, id)),
    lists: message.map(list),
  });
});

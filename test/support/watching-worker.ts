/** A thread that reads without end and counts the times that two records do not fit together. */
import { parentPort, workerData } from 'node:worker_threads';
import { openReader, type ReaderOptions } from '../../src/store/store.ts';
import { modelTables } from './model-store.ts';

const { things, pairs } = modelTables;
const reader = openReader(workerData as ReaderOptions, modelTables);
let rounds = 0;
let wrong = 0;
let closed = false;

function fits(): boolean {
  const rank = String(reader.get(things, 'x')?.rank);
  const [scanned] = reader.scan(pairs);
  return (
    reader.get(pairs, ['x', 0])?.label === rank &&
    reader.list(pairs, 'label', [rank]).length === 1 &&
    reader.list(things, 'group', ['g'])[0] === reader.get(things, 'x') &&
    scanned?.label === rank
  );
}

function watch(): void {
  if (closed) return;
  rounds += 1;
  if (!fits()) wrong += 1;
  setImmediate(watch);
}

parentPort?.on('message', (message: 'position' | 'close') => {
  if (message === 'position') {
    parentPort?.postMessage(reader.position);
    return;
  }
  closed = true;
  parentPort?.postMessage({ rounds, wrong });
  void reader.close().then(() => parentPort?.close());
});
parentPort?.postMessage('ready');
watch();

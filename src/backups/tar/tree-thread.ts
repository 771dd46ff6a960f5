/**
 * Owns reading a tree as tar in a thread of its own, which lives for as long as that takes.
 *
 * 1. Nobody waits for the disk or for many small files: the thread makes its calls itself, and takes what the
 *    others leave of the processor.
 * 2. It reads no further than a window ahead, and ends when nobody reads on.
 */
import { MessageChannel, Worker } from 'node:worker_threads';
import { SendingLane } from '../../workers/sending/lane.ts';
import type { ReadTree, SendTree } from './tree-messages.ts';

const task = new URL('../../workers/tasks/trees.ts', import.meta.url);
const chunkBytes = 256 * 1024;
const windowBytes = 4 * chunkBytes;

/** `missed` is told in the end how many entries cannot be kept. */
export async function* treeInThread(
  tree: ReadTree,
  missed: (count: number) => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(task, {
    workerData: port2,
    transferList: [port2],
    // Most of its memory lies outside the heap.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  let cause: unknown;
  worker.on('error', (error) => (cause = error));
  const lane = new SendingLane<Omit<SendTree, 'port'>>(port1, () => lane.close());
  const count = new Int32Array(new SharedArrayBuffer(4));
  try {
    yield* await lane.send({ ...tree, chunkBytes, missed: count }, windowBytes, signal);
    missed(Atomics.load(count, 0));
  } catch (error) {
    throw cause ?? error;
  } finally {
    lane.close();
  }
}

/**
 * Owns where deliveries are read: short ones at once, long ones one after the other on a thread of their own,
 * so that nobody else waits for them.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../lib/errors.ts';
import { type RawDelivery, type ReadDelivery, readDelivery } from './read-delivery.ts';

const task = new URL('../../workers/tasks/git-delivery.ts', import.meta.url);
/** Up to here it takes about a millisecond. */
const shortBytes = 256 * 1024;
const waitingMax = 8;
const resourceLimits = { maxOldGenerationSizeMb: 512 };

export class DeliveryReader {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Rejects with OVERLOADED when too many long ones wait. */
  async read(delivery: RawDelivery): Promise<ReadDelivery> {
    if (delivery.body.length <= shortBytes) return readDelivery(delivery);
    if (this.#waiting >= waitingMax) {
      throw new ServiceError('OVERLOADED', 'Too many long deliveries wait. Send it again later.');
    }
    this.#waiting += 1;
    const read = this.#last.then(() => readOnThread(delivery));
    this.#last = read.catch(() => undefined);
    try {
      return await read;
    } finally {
      this.#waiting -= 1;
    }
  }
}

async function readOnThread(delivery: RawDelivery): Promise<ReadDelivery> {
  const worker = new Worker(task, { workerData: delivery, resourceLimits });
  try {
    const [read] = (await once(worker, 'message')) as [ReadDelivery];
    return read;
  } finally {
    await worker.terminate();
  }
}

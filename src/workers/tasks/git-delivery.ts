/** Owns the thread that reads one long delivery of a git provider. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { type RawDelivery, readDelivery } from '../../git/deliveries/read-delivery.ts';

// A `nice` value: where threads compete, those that serve come first.
const yieldingPriority = 5;

// Only on Linux does the priority apply to the calling thread alone.
if (process.platform === 'linux') setPriority(yieldingPriority);

parentPort?.postMessage(readDelivery(workerData as RawDelivery));

/** Owns the thread that reads one long delivery of a git provider. */
import { parentPort, workerData } from 'node:worker_threads';
import { type RawDelivery, readDelivery } from '../../git/deliveries/read-delivery.ts';

parentPort?.postMessage(readDelivery(workerData as RawDelivery));

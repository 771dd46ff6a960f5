/** Preloaded into a service under test: its gateway threads do not come to their start. */
import { isMainThread, workerData } from 'node:worker_threads';

const isGateway = !isMainThread && Object.hasOwn(Object(workerData) as object, 'homeRoutes');
if (isGateway) throw new Error('A test ends this thread.');

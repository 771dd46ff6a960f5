/** In place of the thread that searches logs: it hears all, and answers nothing. */
import { parentPort } from 'node:worker_threads';

parentPort?.on('message', () => undefined);

/** The entry point of the thread that searches logs: it runs until it is ended. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { LogFiles } from '../../logs/files/reader.ts';
import type { SearchThreadStart, ToSearchThread } from '../../logs/search/messages.ts';
import { SearchTurns } from '../../logs/search/search-turns.ts';

// A `nice` value: searches leave the processor to all else. Only on Linux does it apply to the calling thread
// alone.
if (process.platform === 'linux') setPriority(5);

const { dir, ...bounds } = workerData as SearchThreadStart;
const turns = new SearchTurns({
  files: new LogFiles(dir),
  bounds: { ...bounds, now: () => performance.now() },
  tell: (message) => parentPort?.postMessage(message),
});

parentPort?.on('message', (message: ToSearchThread) => {
  switch (message.type) {
    case 'search':
      return turns.start(message.id, message.search);
    case 'stop':
      return turns.stop(message.id);
  }
});

/** A thread whose viewers take the lines of live logs as they come, and that tells what they got. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ChannelView } from '../../src/logs/live/channel.ts';
import type { LogMove, UnwatchLog, WatchLog } from '../../src/threads/log-watches.ts';
import { MirroredLogs } from '../../src/threads/mirrored-logs.ts';
import { openFollowingStore } from '../../src/store/reading/following-store.ts';
import type { LogName } from '../../src/logs/files/log.ts';
import { LogFiles } from '../../src/logs/files/reader.ts';
import type { FollowerOptions } from '../../src/store/store.ts';
import { memoryLogger } from './memory-logger.ts';

export interface MirrorSetup {
  follower: FollowerOptions;
  logsDir: string;
}

export type ToMirror =
  | { do: 'attach'; viewer: number; log: LogName; from: number }
  | { do: 'detach'; viewer: number }
  | { do: 'moved'; batch: number; moves: LogMove[] }
  | { do: 'report' | 'close' };

export type FromMirror =
  | { tell: 'watch'; message: WatchLog }
  | { tell: 'unwatch'; message: UnwatchLog }
  | { tell: 'took'; batch: number }
  | { tell: 'report'; viewers: MirrorReport[]; channels: number; warnings: number };

export interface MirrorReport {
  viewer: number;
  text: string;
  life: string;
}

class Viewer {
  readonly view: ChannelView;
  text = '';
  #from: number;

  constructor(log: LogName, from: number) {
    this.#from = from;
    this.view = logs.attach(log, () => this.take());
    this.take();
  }

  take(): void {
    for (;;) {
      const { lines, nextOffset } = this.view.take(this.#from, 64 * 1024);
      if (nextOffset === this.#from) return;
      this.#from = nextOffset;
      for (const line of lines) this.text += Buffer.from(line.bytes).toString();
    }
  }
}

const { follower, logsDir } = workerData as MirrorSetup;
const logger = memoryLogger();
const store = openFollowingStore(follower, { logger, onLost: () => process.exit(1) });
const tell = (message: FromMirror): void => parentPort?.postMessage(message);
const logs = new MirroredLogs({
  reader: new LogFiles(logsDir),
  logger,
  ringBytes: 20_000,
  watch: (message) => tell({ tell: 'watch', message }),
  unwatch: (message) => tell({ tell: 'unwatch', message }),
});
const viewers = new Map<number, Viewer>();

parentPort?.on('message', (message: ToMirror) => {
  switch (message.do) {
    case 'attach':
      viewers.set(message.viewer, new Viewer(message.log, message.from));
      return;
    case 'detach':
      viewers.get(message.viewer)?.view.detach();
      viewers.delete(message.viewer);
      return;
    case 'moved':
      logs.moved(message.moves);
      tell({ tell: 'took', batch: message.batch });
      return;
    case 'report': {
      const reports = [...viewers].map(([viewer, { text, view }]) => {
        return { viewer, text, life: view.channel.life };
      });
      const { channels } = logs.stats();
      tell({ tell: 'report', viewers: reports, channels, warnings: logger.events.length });
      return;
    }
    case 'close':
      void store.close().then(() => parentPort?.close());
  }
});

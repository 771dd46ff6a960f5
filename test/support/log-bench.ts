/** Owns a whole set of live logs in a folder of its own, and a driver in memory; for tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StreamSessions } from '../../src/logs/viewers/sessions.ts';
import type { OpenStream, StreamSessionsOptions } from '../../src/logs/viewers/sessions.ts';
import type { Person } from '../../src/logs/viewers/viewer.ts';
import { LiveLogs, type LogStreamsOptions } from '../../src/logs/live/live-logs.ts';
import type { Driver } from '../../src/drivers/driver.ts';
import type { LogEntry } from '../../src/protocol/workload.ts';
import type { LogName } from '../../src/logs/files/log.ts';
import { LogFiles } from '../../src/logs/files/reader.ts';
import { LogWriter, type LogWriterOptions } from '../../src/logs/files/writer.ts';
import { memoryLogger } from './memory-logger.ts';
import { MemorySink } from './memory-sink.ts';
import { mirrored } from './mirrored-streams.ts';

export const log: LogName = 'app:app_one';

export function person(userId = 'usr_one'): Person {
  return { kind: 'person', userId, sessionId: `ses_${userId}`, teamId: null };
}

export interface BenchOptions {
  writer?: Partial<LogWriterOptions>;
  streams?: Partial<LogStreamsOptions>;
  sessions?: Partial<StreamSessionsOptions>;
  /** Viewers see the logs as on a thread that does not feed them. */
  mirrored?: boolean;
}

/** Made anew on the same folder by `reopen`, as after a crash: nothing is closed before. */
export class LogBench {
  readonly dir = mkdtempSync(join(tmpdir(), 'streams-'));
  readonly logger = memoryLogger();
  readonly #options: BenchOptions;
  #made;

  constructor(options: BenchOptions = {}) {
    this.#options = options;
    this.#made = this.#make();
  }

  get writer() {
    return this.#made.writer;
  }

  get streams() {
    return this.#made.streams;
  }

  get sessions() {
    return this.#made.sessions;
  }

  /** Where viewers read from. */
  get reader() {
    return this.#made.reader;
  }

  reopen(): void {
    this.#made = this.#make();
  }

  open(init: Partial<OpenStream> = {}, sink = new MemorySink()) {
    const start = { after: undefined, tail: 500, sinceMinutes: undefined, ...init.start };
    const common = { resourceId: 'app_one', log, timestamps: false, notices: false };
    const wanted = { person: person(), ...common, ...init, start };
    void this.sessions.reserve(wanted.person);
    const { sessionId, left } = this.sessions.open(wanted, sink);
    return { sessionId, left, sink };
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  #make() {
    const writer = new LogWriter({
      dir: this.dir,
      logger: this.logger,
      segmentBytes: 16_384,
      ...this.#options.writer,
    });
    const streams = new LiveLogs({
      writer,
      logger: this.logger,
      flushMs: 2,
      syncMs: 2,
      ...this.#options.streams,
    });
    const files = new LogFiles(this.dir);
    const sessions = new StreamSessions({
      streams: this.#options.mirrored ? this.#mirror(streams, files) : streams,
      logger: this.logger,
      stillAllowed: () => true,
      onRightsChange: () => () => undefined,
      flushMs: 2,
      flushMaxMs: 10,
      ...this.#options.sessions,
    });
    return { writer, streams, sessions, reader: this.#options.mirrored ? files : writer };
  }

  #mirror(streams: LiveLogs, reader: LogFiles) {
    const ringBytes = this.#options.streams?.ringBytes;
    const options = { streams, reader, logger: this.logger };
    return mirrored(ringBytes === undefined ? options : { ...options, ringBytes }).logs;
  }
}

/** Keeps the entries of one workload until they are acknowledged, as a runner does. */
export class MemoryDriver implements Pick<Driver, 'follow' | 'acknowledge'> {
  acknowledgedSeq = 0;
  #entries: LogEntry[] = [];
  #seq = 0;
  #ended = false;
  #changed: () => void = () => undefined;
  /** Entries handed over at a time. */
  batch = 50;

  print(...texts: string[]): void {
    for (const text of texts) {
      const bytes = Buffer.from(text);
      this.#entries.push({ seq: ++this.#seq, atMs: Date.now(), stream: 'stdout', bytes });
    }
    this.#changed();
  }

  end(): void {
    this.#ended = true;
    this.#changed();
  }

  async follow(
    _id: string,
    afterSeq: number,
    sink: (entries: readonly LogEntry[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.addEventListener('abort', () => {
      this.#changed();
    });
    for (let seq = afterSeq; !signal.aborted;) {
      const next = this.#entries.filter((entry) => entry.seq > seq).slice(0, this.batch);
      const last = next.at(-1);
      if (last !== undefined) {
        await sink(next);
        seq = last.seq;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#changed = resolve;
        });
      }
    }
  }

  acknowledge(_id: string, seq: number): void {
    this.acknowledgedSeq = seq;
    this.#entries = this.#entries.filter((entry) => entry.seq > seq);
  }
}

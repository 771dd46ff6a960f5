/**
 * Owns the counts of apps' visitors over all processes of the edge, on disk: a file of slots of 256 bytes.
 *
 *     | id of the app: 64, or zeros | counts | unused |
 *
 * 1. A process of the edge counts from zero. What it tells is what it has counted so far, of which only that is
 *    added which is new. So a count never goes back, whichever process ends or is not heard.
 * 2. What can be asked for is in the file, from where the next runner goes on.
 * 3. Only apps that routes lead to are counted anew; the edge is believed nothing else.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Logger } from '../../../lib/log.ts';
import {
  type AppTraffic,
  countsFromBytes,
  countsToBytes,
  newCounts,
  type PlainTraffic,
  trafficNumbers,
  type TrafficReport,
} from '../../../protocol/traffic.ts';

const fileName = 'traffic';
const idPattern = /^[A-Za-z0-9_-]{1,64}$/;
const [slotBytes, idBytes] = [256, 64];

interface Stored {
  slot: number;
  counts: AppTraffic['counts'];
}

export class StoredTraffic {
  readonly #logger: Logger;
  readonly #fd: number;
  readonly #apps = new Map<string, Stored>();
  /** Slots that are no app's any more. */
  readonly #free: number[] = [];
  /** What each process told last, by app. */
  readonly #told = new Map<object, Map<string, TrafficReport>>();
  #slots = 0;
  #isFailing = false;

  constructor(dir: string, logger: Logger) {
    this.#logger = logger;
    const { O_RDWR, O_CREAT } = fs.constants;
    this.#fd = fs.openSync(path.join(dir, fileName), O_RDWR | O_CREAT, 0o600);
    const bytes = fs.readFileSync(this.#fd);
    for (; (this.#slots + 1) * slotBytes <= bytes.length; this.#slots++) {
      this.#load(this.#slots, bytes.subarray(this.#slots * slotBytes));
    }
  }

  /** Takes what a process of the edge told. `isRouted`: whether a route leads to the app. */
  hear(process: object, reports: readonly unknown[], isRouted: (app: string) => boolean): void {
    const told = this.#told.get(process) ?? new Map<string, TrafficReport>();
    this.#told.set(process, told);
    for (const report of reports) {
      if (!isReport(report)) continue;
      const { app } = report;
      const stored = this.#apps.get(app) ?? (isRouted(app) ? this.#begin(app) : undefined);
      if (stored === undefined) continue;
      addNew(stored.counts, told.get(app), report);
      told.set(app, report);
      this.#write(app, stored);
    }
  }

  /** A process has ended, and its WebSockets with it. */
  ended(process: object): void {
    this.#told.delete(process);
  }

  all(): PlainTraffic[] {
    return [...this.#apps].map(([app, { counts }]) => [
      app,
      countsToBytes(counts),
      this.#socketsOf(app),
    ]);
  }

  /** The app is gone for good. */
  forget(app: string): void {
    const stored = this.#apps.get(app);
    if (stored === undefined) return;
    this.#apps.delete(app);
    this.#free.push(stored.slot);
    this.#put(stored.slot, Buffer.alloc(slotBytes));
  }

  close(): void {
    fs.closeSync(this.#fd);
  }

  #socketsOf(app: string): number {
    let sockets = 0;
    for (const told of this.#told.values()) sockets += told.get(app)?.sockets ?? 0;
    return sockets;
  }

  #load(slot: number, bytes: Buffer): void {
    const app = bytes.toString('latin1', 0, idBytes).replace(/\0.*$/s, '');
    if (idPattern.test(app)) {
      this.#apps.set(app, { slot, counts: countsFromBytes(bytes.subarray(idBytes)) });
    } else this.#free.push(slot);
  }

  #begin(app: string): Stored {
    const stored = { slot: this.#free.pop() ?? this.#slots++, counts: newCounts() };
    this.#apps.set(app, stored);
    return stored;
  }

  #write(app: string, { slot, counts }: Stored): void {
    const bytes = Buffer.alloc(slotBytes);
    bytes.write(app, 'latin1');
    countsToBytes(counts).copy(bytes, idBytes);
    this.#put(slot, bytes);
  }

  #put(slot: number, bytes: Buffer): void {
    try {
      fs.writeSync(this.#fd, bytes, 0, slotBytes, slot * slotBytes);
      this.#isFailing = false;
    } catch (error) {
      // It is counted all the same, and written with the next that changes.
      if (!this.#isFailing) this.#logger.error({ err: error }, 'traffic_not_written');
      this.#isFailing = true;
    }
  }
}

function addNew(
  counts: AppTraffic['counts'],
  before: TrafficReport | undefined,
  report: TrafficReport,
): void {
  const known = before?.life === report.life ? before.counts : [];
  for (const [at, count] of report.counts.entries()) {
    counts[at] = (counts[at] ?? 0) + Math.max(0, count - (known[at] ?? 0));
  }
}

function isReport(report: unknown): report is TrafficReport {
  if (typeof report !== 'object' || report === null) return false;
  const { app, life, counts, sockets } = report as Partial<TrafficReport>;
  return (
    typeof app === 'string' &&
    idPattern.test(app) &&
    typeof life === 'number' &&
    isCount(sockets) &&
    Array.isArray(counts) &&
    counts.length === trafficNumbers &&
    counts.every(isCount)
  );
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}

/**
 * Owns the regular samples of CPU, memory and network of each app and database.
 *
 * 1. Every ten seconds, at multiples of them, the driver is asked for the usage of all that runs, some
 *    workloads at a time. When nothing runs it is not asked.
 * 2. An owner's sample is the sum over its workloads; builds are not counted.
 * 3. A driver that does not answer costs samples and nothing else.
 */
import type { Driver } from '../drivers/driver.ts';
import type { Usage, Workload } from '../protocol/workload.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { MetricsWriter } from './metrics-files.ts';
import { fineRing } from './sample-ring.ts';
import { type MetricsSample, sumOfKnown } from './usage-samples.ts';

export interface UsageSamplerOptions {
  driver: Pick<Driver, 'usage' | 'usages' | 'watch' | 'list'>;
  /** Whether the driver's word counts for this app or database. */
  isHere: (owner: string) => boolean;
  writer: Pick<MetricsWriter<MetricsSample>, 'write' | 'rest' | 'prune'>;
  clock: Clock;
  logger: Logger;
}

interface Watched {
  owner: string;
  /** The last values of its counters; null for a workload that was found running. */
  last: { atMs: number; usage: Usage } | null;
}

/**
 * Workloads in one request: the runner, which also serves the edge, is busy with them for 2 to 3 ms.
 */
const askedAtOnce = 25;
const pruneEveryMs = 3_600_000;
/**
 * What was used in less says little: a start is known to some milliseconds, and an app that began 2 ms
 * before would have used a hundred cores.
 */
const spanMinMs = 1000;

const nothingUsed: Usage = { cpuNs: 0, memoryBytes: 0, networkInBytes: 0, networkOutBytes: 0 };

export class UsageSampler {
  readonly #options: UsageSamplerOptions;
  readonly #watched = new Map<string, Watched>();
  #unwatch: () => void = () => undefined;
  #cancel: () => void = () => undefined;
  #prunedAtMs = -Infinity;
  #failing = false;
  #closed = false;

  constructor(options: UsageSamplerOptions) {
    this.#options = options;
  }

  /** To be called once the driver is open. */
  async start(): Promise<void> {
    const { driver, logger } = this.#options;
    this.#unwatch = driver.watch((event) => {
      if (event.type === 'state') this.#note(event.workload, true);
      else if (event.type === 'connected') this.#noteAll(event.workloads);
    });
    try {
      this.#noteAll(await driver.list());
    } catch (error) {
      // The driver reports what runs when it is connected.
      logger.warn({ err: error }, 'usage_not_listed');
    }
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#cancel();
  }

  #noteAll(workloads: readonly Workload[]): void {
    const running = new Set(workloads.map(({ spec }) => spec.id));
    for (const [id, { owner }] of this.#watched) {
      if (!running.has(id)) this.#forget(id, owner);
    }
    for (const workload of workloads) this.#note(workload, false);
  }

  /** `fresh`: its start was seen, so that its counters began at zero. */
  #note({ spec: { id, owner, kind }, state }: Workload, fresh: boolean): void {
    if (kind !== 'service' || !this.#options.isHere(owner)) return;
    if (state.phase === 'ended') {
      this.#forget(id, owner);
    } else if (!this.#watched.has(id)) {
      const isNew = fresh && state.phase === 'running' && state.restarts === 0;
      const last = isNew ? { atMs: state.startedAtMs, usage: nothingUsed } : null;
      this.#watched.set(id, { owner, last });
    }
  }

  #forget(id: string, owner: string): void {
    if (!this.#watched.delete(id)) return;
    for (const other of this.#watched.values()) if (other.owner === owner) return;
    this.#options.writer.rest(owner);
  }

  #schedule(): void {
    if (this.#closed) return;
    const { clock } = this.#options;
    this.#cancel = clock.after(
      fineRing.stepMs - (clock.now() % fineRing.stepMs),
      () => void this.#look().finally(() => this.#schedule()),
    );
  }

  async #look(): Promise<void> {
    const { writer, clock, logger } = this.#options;
    try {
      for (const [owner, sample] of await this.#samples()) {
        if (this.#closed) return;
        writer.write(owner, sample);
      }
      this.#failing = false;
      if (clock.now() - this.#prunedAtMs < pruneEveryMs) return;
      this.#prunedAtMs = clock.now();
      await writer.prune(clock.now());
    } catch (error) {
      // Logged once, not every ten seconds.
      if (!this.#failing) logger.warn({ err: error }, 'usage_not_sampled');
      this.#failing = true;
    }
  }

  async #samples(): Promise<Map<string, MetricsSample>> {
    const ids = [...this.#watched.keys()];
    const samples = new Map<string, MetricsSample>();
    for (let at = 0; at < ids.length && !this.#closed; at += askedAtOnce) {
      const usages = await this.#ask(ids.slice(at, at + askedAtOnce));
      const atMs = this.#options.clock.now();
      for (const [id, usage] of usages) {
        const watched = this.#watched.get(id);
        if (!watched) continue;
        const { last, owner } = watched;
        const spanMs = last ? atMs - last.atMs : 0;
        // It goes into the next sample.
        if (last && spanMs >= 0 && spanMs < spanMinMs) continue;
        watched.last = { atMs, usage };
        // A clock may be set back.
        if (!last || spanMs < 0) continue;
        const sample = sampleOf(last, watched.last);
        const others = samples.get(owner);
        samples.set(owner, others ? together(others, sample) : sample);
      }
    }
    return samples;
  }

  async #ask(ids: readonly string[]): Promise<ReadonlyMap<string, Usage>> {
    const { driver } = this.#options;
    if (driver.usages) return await driver.usages(ids);
    const found = new Map<string, Usage>();
    await Promise.all(
      ids.map(async (id) => {
        const usage = await driver.usage(id);
        if (usage) found.set(id, usage);
      }),
    );
    return found;
  }
}

function sampleOf(
  before: { atMs: number; usage: Usage },
  now: { atMs: number; usage: Usage },
): MetricsSample {
  const elapsedNs = (now.atMs - before.atMs) * 1_000_000;
  // A counter that is lower than before began anew.
  const since = (earlier: number, later: number): number =>
    later < earlier ? later : later - earlier;
  const orNull = (earlier: number | null, later: number | null): number | null =>
    later === null ? null : since(earlier ?? 0, later);
  return {
    atMs: now.atMs,
    cpu: since(before.usage.cpuNs, now.usage.cpuNs) / elapsedNs,
    memoryBytes: now.usage.memoryBytes,
    networkInBytes: orNull(before.usage.networkInBytes, now.usage.networkInBytes),
    networkOutBytes: orNull(before.usage.networkOutBytes, now.usage.networkOutBytes),
  };
}

/** The sum of two workloads of one owner at one time. */
function together(a: MetricsSample, b: MetricsSample): MetricsSample {
  return {
    atMs: Math.max(a.atMs, b.atMs),
    cpu: a.cpu + b.cpu,
    memoryBytes: a.memoryBytes + b.memoryBytes,
    networkInBytes: sumOfKnown([a.networkInBytes, b.networkInBytes]),
    networkOutBytes: sumOfKnown([a.networkOutBytes, b.networkOutBytes]),
  };
}

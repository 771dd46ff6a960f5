/**
 * Owns what is known here of the visitors of apps: the counts of the runner, and samples of them.
 *
 * 1. Every ten seconds, at multiples of them, the runner is asked. A sample is what came since it was asked before;
 *    there is none where nothing came.
 * 2. A runner that does not answer costs samples and nothing else: what it told last is what is told here.
 * 3. What it knows of apps that are gone for good is forgotten there, too. Nobody waits for that, however many it names.
 */
import type { Driver } from '../drivers/driver.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { type AppTraffic, ownTraffic } from '../protocol/traffic.ts';
import type { MetricsWriter } from './metrics-files.ts';
import { fineRing } from './sample-ring.ts';
import type { TrafficSample } from './traffic-samples.ts';

export interface TrafficWatchOptions {
  /** That of the edge. */
  driver: Pick<Driver, 'traffic' | 'forgetTraffic'>;
  writer: Pick<MetricsWriter<TrafficSample>, 'write' | 'rest'>;
  /** Whether there is such an app, if only in the trash. */
  isApp: (id: string) => boolean;
  clock: Clock;
  logger: Logger;
}

/** How many apps are forgotten after one question. */
const forgetMax = 20;

export class TrafficWatch {
  readonly #options: TrafficWatchOptions;
  #known: ReadonlyMap<string, AppTraffic> = new Map();
  /** As it was at the last sample; null before the first. */
  #sampled: ReadonlyMap<string, AppTraffic> | null = null;
  #asking: Promise<void> | undefined;
  #isForgetting = false;
  #cancel: () => void = () => undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(options: TrafficWatchOptions) {
    this.#options = options;
  }

  /** To be called once the driver is open. */
  start(): void {
    if (this.#isClosed || !this.#options.driver.traffic) return;
    const { clock } = this.#options;
    this.#cancel = clock.after(fineRing.stepMs - (clock.now() % fineRing.stepMs), () => {
      void this.#sample().finally(() => this.start());
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  /** By app, as young as the runner tells; whoever asks meanwhile shares the question. Never rejects. */
  async now(): Promise<ReadonlyMap<string, AppTraffic>> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
    return this.#known;
  }

  async #ask(): Promise<void> {
    const { driver, isApp, logger } = this.#options;
    try {
      const told = new Map(await driver.traffic?.());
      const gone = [...told.keys()].filter((id) => id !== ownTraffic && !isApp(id));
      for (const app of gone) told.delete(app);
      this.#known = told;
      this.#isFailing = false;
      void this.#forget(gone.slice(0, forgetMax));
    } catch (error) {
      // Logged once, not every ten seconds.
      if (!this.#isFailing && !this.#isClosed) logger.warn({ err: error }, 'traffic_not_told');
      this.#isFailing = true;
    }
  }

  /** What is left, and what failed, comes with the next question again. */
  async #forget(apps: readonly string[]): Promise<void> {
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    const { driver, logger } = this.#options;
    try {
      for (const app of apps) await driver.forgetTraffic?.(app);
    } catch (error) {
      if (!this.#isClosed) logger.debug({ err: error }, 'traffic_not_forgotten');
    } finally {
      this.#isForgetting = false;
    }
  }

  async #sample(): Promise<void> {
    const { writer, clock, logger } = this.#options;
    const now = await this.now();
    const before = this.#sampled;
    this.#sampled = now;
    if (before === null || this.#isClosed) return;
    try {
      for (const [app, { counts }] of now) {
        if (app === ownTraffic) continue;
        const known = before.get(app)?.counts;
        const fresh = counts.map((count, at) => Math.max(0, count - (known?.[at] ?? 0)));
        if (fresh.some((count) => count > 0)) {
          writer.write(app, { atMs: clock.now(), counts: fresh });
        }
      }
    } catch (error) {
      logger.warn({ err: error }, 'traffic_not_sampled');
    }
    for (const app of before.keys()) if (!now.has(app)) writer.rest(app);
  }
}

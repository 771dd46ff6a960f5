/**
 * Owns what is the same for all workloads of an app or a database: their output on its way into the
 * log, their way back from a crash, and their way out.
 *
 * 1. However often it is asked for, a workload is followed once.
 * 2. One that ended by itself and runs again is asked until it answers, by one asker at a time.
 * 3. An end is tried until the driver has forgotten the workload; its last output is waited for, for
 *    a while.
 */
import type { Driver } from '../../drivers/driver.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogName } from '../../logs/files/log.ts';
import { isAborted } from '../app/running/health.ts';
import { reach } from '../app/running/reach.ts';
import type { ActorContext, Protocol } from '../runtime/actor.ts';
import type { LogStreams } from '../../logs/live/log-streams.ts';

export interface WorkloadCareOptions {
  /** The id of the app or database. */
  owner: string;
  log: LogName;
  /** Where the output of this one goes instead; undefined: to `log`. */
  logOf?: (workloadId: string) => LogName | undefined;
  driver: Driver;
  streams: Pick<LogStreams, 'feed'>;
  clock: Clock;
  logger: Logger;
  context: Pick<ActorContext<Protocol>, 'work'>;
}

export interface WayBack {
  /** Asked once it listens on its port; absent: that is enough. */
  isWell?: (signal: AbortSignal) => Promise<boolean>;
  /** It is well, and runs since then. */
  told: (startedAtMs: number) => Promise<unknown>;
}

export interface WayOut {
  /** Comes first, in each try: whatever has to be waited for. */
  ready?: (signal: AbortSignal) => Promise<void>;
  /** Comes last: the workload is gone. */
  told?: () => Promise<unknown>;
}

const retryMs = 2000;
const recheckMs = 250;
/** How long the last output of an ended workload may take. */
const outputMs = 5000;

export class WorkloadCare {
  readonly #options: WorkloadCareOptions;
  /** Outputs on their way into the log, by workload. */
  readonly #followed = new Map<string, Promise<void>>();
  /** Asked whether they are well again. */
  readonly #asked = new Set<string>();

  constructor(options: WorkloadCareOptions) {
    this.#options = options;
  }

  /** Follows the output of a workload into the log until it has ended. Again is fine. */
  follow(workloadId: string): void {
    if (this.#followed.has(workloadId)) return;
    const { logger, owner, context } = this.#options;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#followed.set(workloadId, promise);
    context.work(`follow:${workloadId}`, async (signal) => {
      try {
        await this.#feed(workloadId, signal);
      } catch (error) {
        // Whoever sees it running again follows it again.
        this.#followed.delete(workloadId);
        if (!signal.aborted) {
          logger.error({ owner, workload: workloadId, err: error }, 'log_lost');
        }
      } finally {
        resolve(undefined);
      }
    });
  }

  /** Asks until it is well, or does not run any more. Again is fine. */
  recheck(workloadId: string, way: WayBack): void {
    if (this.#asked.has(workloadId)) return;
    const { logger, owner, context } = this.#options;
    this.#asked.add(workloadId);
    context.work(`recheck:${workloadId}`, async (signal) => {
      try {
        const startedAtMs = await this.#wellSince(workloadId, way, signal).finally(() => {
          // Before it is told: from then on another crash is followed by another asking.
          this.#asked.delete(workloadId);
        });
        if (startedAtMs !== null) await way.told(startedAtMs);
      } catch (error) {
        if (!signal.aborted) {
          logger.warn({ owner, workload: workloadId, err: error }, 'workload_not_rechecked');
        }
      }
    });
  }

  async #wellSince(
    workloadId: string,
    { isWell }: WayBack,
    signal: AbortSignal,
  ): Promise<number | null> {
    const { driver, clock } = this.#options;
    for (;;) {
      const workload = await driver.inspect(workloadId);
      if (workload?.state.phase !== 'running') return null;
      const listens = (await driver.probe(workloadId)) === 'listening';
      if (listens && (isWell === undefined || (await isWell(signal)))) {
        return workload.state.startedAtMs;
      }
      await pause(clock, recheckMs, signal);
    }
  }

  /** Waits, for a while, until all output of what has ended is in the log. */
  async settled(workloadId: string, signal: AbortSignal): Promise<void> {
    await Promise.race([
      this.#followed.get(workloadId),
      pause(this.#options.clock, outputMs, signal),
    ]);
  }

  /** Resolves when it is gone and told, or when `signal` aborts. */
  async seeOff(workloadId: string, way: WayOut, signal: AbortSignal): Promise<void> {
    const { driver, clock, logger, owner } = this.#options;
    for (;;) {
      try {
        await way.ready?.(signal);
        this.follow(workloadId);
        await driver.stop(workloadId);
        await this.settled(workloadId, signal);
        await driver.remove(workloadId);
        this.#followed.delete(workloadId);
        await way.told?.();
        return;
      } catch (error) {
        if (isAborted(signal)) return;
        logger.warn({ owner, workload: workloadId, err: error }, 'workload_not_ended');
      }
      await pause(clock, retryMs, signal).catch(() => undefined);
      if (isAborted(signal)) return;
    }
  }

  async #feed(workloadId: string, signal: AbortSignal): Promise<void> {
    const { streams, driver, clock, logger, owner } = this.#options;
    const log = this.#options.logOf?.(workloadId) ?? this.#options.log;
    for (;;) {
      try {
        await streams.feed(log, driver, workloadId, signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ owner, workload: workloadId, err: error }, 'log_interrupted');
      }
      await pause(clock, retryMs, signal);
      if ((await reach(clock, signal, () => driver.inspect(workloadId))) === undefined) return;
    }
  }
}

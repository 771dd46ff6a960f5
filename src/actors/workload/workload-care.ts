/**
 * Owns what all workloads of an app or a database share: following their output into the log, the check
 * after a crash, and their end.
 *
 * 1. A workload is followed once and ended once, however often that is requested.
 * 2. A workload that ended by itself and runs again is checked until it answers, by one check at a time.
 * 3. An end is tried until the driver has forgotten the workload. Its last output is waited for, for a
 *    while.
 */
import { pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { LogName } from '../../logs/files/log.ts';
import type { LogStreams } from '../../logs/live/log-streams.ts';
import type { Workload } from '../../protocol/workload.ts';
import type { ActorContext, Protocol } from '../runtime/actor.ts';
import type { WorkloadDeps } from './deps.ts';
import { lastWordsMs } from './ends.ts';
import { isAborted, reach } from './reach.ts';

export interface CareOwner {
  readonly id: string;
  readonly deps: Pick<WorkloadDeps, 'driver' | 'clock' | 'logger'> & {
    streams: Pick<LogStreams, 'feed'>;
  };
  readonly context: Pick<ActorContext<Protocol>, 'work' | 'report' | 'afterCommit'>;
  logOf(workloadId: string): LogName;
}

export interface WayBack {
  /** Checks it once it listens on its port; absent: listening is enough. */
  isWell?: (signal: AbortSignal) => Promise<boolean>;
  /** Changes the state: the workload is well, and runs since then. */
  recovered: (startedAtMs: number) => void;
}

export interface WayOut {
  /** Comes first, in each try: whatever has to be waited for. */
  ready?: (signal: AbortSignal) => Promise<void>;
  /** Workloads that end after it, in this order. */
  others?: readonly string[];
  /** Changes the state: the driver has forgotten all of them. */
  gone: () => void;
}

const retryMs = 2000;
const recheckMs = 250;
/** How long the last output of an ended workload may take. */
const outputMs = 5000;

export class WorkloadCare {
  readonly #owner: CareOwner;
  readonly #followed = new Map<string, Promise<void>>();
  readonly #asked = new Set<string>();
  readonly #ending = new Set<string>();

  constructor(owner: CareOwner) {
    this.#owner = owner;
  }

  /** Follows the output of a workload into the log until it has ended. May be repeated. */
  follow(workloadId: string): void {
    if (this.#followed.has(workloadId)) return;
    const { context, deps, id: owner } = this.#owner;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#followed.set(workloadId, promise);
    context.work(`follow:${workloadId}`, async (signal) => {
      try {
        await this.#feed(workloadId, signal);
      } catch (error) {
        // When the workload runs again, it is followed again.
        this.#followed.delete(workloadId);
        if (!signal.aborted) {
          const isAway = error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE';
          const told = { owner, workload: workloadId, err: error };
          // What was written meanwhile is kept there.
          if (isAway) deps.logger.warn(told, 'log_waits_for_server');
          else deps.logger.error(told, 'log_lost');
        }
      } finally {
        resolve(undefined);
      }
    });
  }

  /** Checks until the workload is well, or does not run any more. May be repeated. */
  recheck(workloadId: string, way: WayBack): void {
    if (this.#asked.has(workloadId)) return;
    this.#asked.add(workloadId);
    this.#try(`recheck:${workloadId}`, workloadId, 'workload_not_rechecked', async (signal) => {
      const startedAtMs = await this.#wellSince(workloadId, way, signal).finally(() => {
        // This comes before the report: another crash after it starts another check.
        this.#asked.delete(workloadId);
      });
      if (startedAtMs === null) return;
      await this.#owner.context.report(() => way.recovered(startedAtMs));
    });
  }

  async #wellSince(
    workloadId: string,
    { isWell }: WayBack,
    signal: AbortSignal,
  ): Promise<number | null> {
    const { driver, clock } = this.#owner.deps;
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

  /**
   * Asks the driver for a workload that a list lacks. The list may be older than the workload, so only the
   * driver's answer for this one counts.
   */
  confirm(workloadId: string, port: number | null, notice: (workload: Workload) => void): void {
    const { context, deps, id: owner } = this.#owner;
    const { driver, clock } = deps;
    this.#try(`confirm:${workloadId}`, workloadId, 'workload_not_found', async (signal) => {
      const found = await reach(clock, signal, () => driver.inspect(workloadId));
      const lost = { code: null, signal: null, reason: 'lost', detail: null } as const;
      const workload: Workload = found ?? {
        spec: { id: workloadId, owner, kind: 'service', port },
        state: { phase: 'ended', exit: { ...lost, atMs: clock.now() } },
      };
      await context.report(() => notice(workload));
    });
  }

  /** Removes what a crash left at the driver and the journal does not know. */
  removeUnknown(workloads: readonly Workload[], known: ReadonlySet<string | null>): void {
    const { deps, id: owner } = this.#owner;
    const { driver, logger } = deps;
    for (const { spec } of workloads) {
      if (known.has(spec.id)) continue;
      logger.warn({ owner, workload: spec.id }, 'workload_unknown');
      driver
        .remove(spec.id)
        .catch((error: unknown) =>
          logger.warn({ workload: spec.id, err: error }, 'workload_not_removed'),
        );
    }
  }

  /** Reports an unasked end, after its last output if that comes soon. */
  tellEnd(workloadId: string, say: () => void): void {
    this.#owner.context.work(`tell:${workloadId}`, async (signal) => {
      await pause(this.#owner.deps.clock, lastWordsMs, signal).catch(() => undefined);
      say();
    });
  }

  /** Waits, for a while, until all output of an ended workload is in the log. */
  async settled(workloadId: string, signal: AbortSignal): Promise<void> {
    await Promise.race([
      this.#followed.get(workloadId),
      pause(this.#owner.deps.clock, outputMs, signal),
    ]);
  }

  /** Ends the workload, once its leaving is durable. May be repeated. */
  end(workloadId: string, { ready, others = [], gone }: WayOut): void {
    if (this.#ending.has(workloadId)) return;
    this.#ending.add(workloadId);
    const { context } = this.#owner;
    context.afterCommit(() =>
      context.work(`end:${workloadId}`, async (signal) => {
        await this.#seeOff(workloadId, signal, ready);
        for (const other of others) await this.#seeOff(other, signal);
        await context.report(() => {
          this.#ending.delete(workloadId);
          gone();
        });
      }),
    );
  }

  /** Resolves when it is gone; rejects when `signal` aborts. */
  async #seeOff(
    workloadId: string,
    signal: AbortSignal,
    ready?: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { deps, id: owner } = this.#owner;
    const { driver, clock, logger } = deps;
    for (;;) {
      try {
        await ready?.(signal);
        this.follow(workloadId);
        await driver.stop(workloadId);
        await this.settled(workloadId, signal);
        await driver.remove(workloadId);
        this.#followed.delete(workloadId);
        return;
      } catch (error) {
        if (isAborted(signal)) throw error;
        logger.warn({ owner, workload: workloadId, err: error }, 'workload_not_ended');
      }
      await pause(clock, retryMs, signal);
    }
  }

  /** Runs work that may fail, and logs a failure. */
  #try(
    name: string,
    workloadId: string,
    failed: 'workload_not_rechecked' | 'workload_not_found',
    work: (signal: AbortSignal) => Promise<void>,
  ): void {
    const { context, deps, id: owner } = this.#owner;
    context.work(name, async (signal) => {
      try {
        await work(signal);
      } catch (error) {
        if (!signal.aborted) deps.logger.warn({ owner, workload: workloadId, err: error }, failed);
      }
    });
  }

  async #feed(workloadId: string, signal: AbortSignal): Promise<void> {
    const { deps, id: owner } = this.#owner;
    const { streams, driver, clock, logger } = deps;
    const log = this.#owner.logOf(workloadId);
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

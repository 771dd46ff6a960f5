/**
 * Owns what viewers of live logs are notified while the driver of a place is not connected to it.
 *
 * 1. Viewers of running workloads get a notice when the connection is lost, and another when it is
 *    back.
 * 2. When it stays lost for `disconnectedMaxMs`, their streams fail: no line can come, and a client
 *    that connects again is notified so.
 * 3. Viewers of what does not run are notified nothing.
 */
import type { Driver } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { LogName } from '../files/log.ts';
import type { LiveLogs } from './live-logs.ts';
import { sourceRuns } from './running-sources.ts';

export const disconnectedMaxMs = 60_000;
const reason = `What runs this was not reached for ${String(disconnectedMaxMs / 1000)} seconds. Stored lines are in GraphQL: logs, searchLogs.`;

export interface DriverWatchOptions {
  place: { serverId: string; driver: Pick<Driver, 'watch'> };
  streams: Pick<LiveLogs, 'watched' | 'notice' | 'fail'>;
  reader: Pick<Reader, 'get'>;
  clock: Clock;
}

type Connection =
  | { phase: 'connected' }
  /** `notified`: the logs whose viewers know. */
  | { phase: 'lost'; notified: readonly LogName[]; cancel: () => void };

export class DriverWatch {
  readonly #options: DriverWatchOptions;
  #connection: Connection = { phase: 'connected' };
  #unwatch: () => void = () => undefined;

  constructor(options: DriverWatchOptions) {
    this.#options = options;
  }

  /** To be called before the driver is opened, so that its first events are heard. */
  start(): void {
    this.#unwatch = this.#options.place.driver.watch(({ type }) => {
      if (type === 'disconnected') this.#lost();
      else if (type === 'connected') this.#found();
    });
  }

  close(): void {
    this.#unwatch();
    if (this.#connection.phase === 'lost') this.#connection.cancel();
  }

  #lost(): void {
    if (this.#connection.phase === 'lost') return;
    const { streams, clock } = this.#options;
    const notified = this.#running();
    for (const log of notified) streams.notice(log, { kind: 'unreachable', atMs: clock.now() });
    const cancel = clock.after(disconnectedMaxMs, () => {
      for (const log of this.#running()) streams.fail(log, reason);
    });
    this.#connection = { phase: 'lost', notified, cancel };
  }

  #found(): void {
    if (this.#connection.phase === 'connected') return;
    const { streams, clock } = this.#options;
    const { notified, cancel } = this.#connection;
    this.#connection = { phase: 'connected' };
    cancel();
    for (const log of notified) streams.notice(log, { kind: 'reachable', atMs: clock.now() });
  }

  #running(): LogName[] {
    const { streams, reader, place } = this.#options;
    return streams.watched().filter((log) => sourceRuns(reader, log, place.serverId));
  }
}

/**
 * Owns what viewers of live logs are told while the place where things run is not reached.
 *
 * 1. Who watches what runs there gets a notice when it is lost, and another one when it is back.
 * 2. Without it for `placeAwayMaxMs`, their streams fail: no line can come, and a client that connects
 *    again is told so.
 * 3. What does not run has no place that could be away: its viewers are told nothing.
 */
import type { Driver } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { LogName } from '../files/log-name.ts';
import type { LiveLogs } from './log-streams.ts';
import { sourceRuns } from './running-sources.ts';

export const placeAwayMaxMs = 60_000;
const reason = `What runs this was not reached for ${String(placeAwayMaxMs / 1000)} seconds. Stored lines are in GraphQL: logs, searchLogs.`;

export interface PlaceWatchOptions {
  driver: Pick<Driver, 'watch'>;
  streams: Pick<LiveLogs, 'watched' | 'notice' | 'fail'>;
  reader: Pick<Reader, 'get'>;
  clock: Clock;
}

type Place =
  | { phase: 'reached' }
  /** `told`: the logs whose viewers know. */
  | { phase: 'away'; told: readonly LogName[]; cancel: () => void };

export class PlaceWatch {
  readonly #options: PlaceWatchOptions;
  #place: Place = { phase: 'reached' };
  #unwatch: () => void = () => undefined;

  constructor(options: PlaceWatchOptions) {
    this.#options = options;
  }

  /** To be called before the driver is opened: what it says then is heard. */
  start(): void {
    this.#unwatch = this.#options.driver.watch(({ type }) => {
      if (type === 'disconnected') this.#lost();
      else if (type === 'connected') this.#found();
    });
  }

  close(): void {
    this.#unwatch();
    if (this.#place.phase === 'away') this.#place.cancel();
  }

  #lost(): void {
    if (this.#place.phase === 'away') return;
    const { streams, clock } = this.#options;
    const told = this.#running();
    for (const log of told) streams.notice(log, { kind: 'unreachable', atMs: clock.now() });
    const cancel = clock.after(placeAwayMaxMs, () => {
      for (const log of this.#running()) streams.fail(log, reason);
    });
    this.#place = { phase: 'away', told, cancel };
  }

  #found(): void {
    if (this.#place.phase === 'reached') return;
    const { streams, clock } = this.#options;
    const { told, cancel } = this.#place;
    this.#place = { phase: 'reached' };
    cancel();
    for (const log of told) streams.notice(log, { kind: 'reachable', atMs: clock.now() });
  }

  #running(): LogName[] {
    const { streams, reader } = this.#options;
    return streams.watched().filter((log) => sourceRuns(reader, log));
  }
}

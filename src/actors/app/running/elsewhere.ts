/**
 * Owns the line in a deployment's log that says where an app listens when it does not listen on its
 * PORT.
 *
 * The app is not ended for that: an app that is slow to start may open a port for metrics or a debugger
 * first, which looks the same from outside.
 */
import type { Driver } from '../../../drivers/driver.ts';
import type { Listener } from '../../../lib/processes/listening-sockets.ts';
import type { Clock } from '../../../lib/clock.ts';

export interface ElsewhereOptions {
  driver: Driver;
  clock: Clock;
  workloadId: string;
  /** What the app knows its port as. */
  shownPort: number;
  say: (line: string) => void;
}

const shownMax = 4;

export class Elsewhere {
  readonly #options: ElsewhereOptions;
  readonly #fromMs: number;
  #told = false;
  /** Why nothing was reached, as the end of a sentence. */
  seen: string;

  /** `fromMs`: not looked at before. */
  constructor(options: ElsewhereOptions, fromMs: number) {
    this.#options = options;
    this.#fromMs = fromMs;
    // Who listens on loopback alone is reached by nobody outside its container.
    const where = options.driver.runs === 'image' ? ' at 0.0.0.0' : '';
    this.seen = `nothing listened on its port ${String(options.shownPort)}${where} (the variable PORT)`;
  }

  /** Looks where it listens, and says so the first time that it does. */
  async look(): Promise<void> {
    const { driver, clock, workloadId, shownPort, say } = this.#options;
    if (this.#told || clock.now() < this.#fromMs) return;
    const found = describeListeners(await driver.listeners(workloadId), shownPort, driver.runs);
    if (found === null) return;
    this.#told = true;
    this.seen = found;
    say(`${found.charAt(0).toUpperCase()}${found.slice(1)}.`);
  }
}

/** The end of a sentence; null for what listens nowhere. */
export function describeListeners(
  listeners: readonly Listener[],
  shownPort: number,
  runs: Driver['runs'],
): string | null {
  const [onPort] = listeners.filter(({ port }) => port === shownPort);
  if (onPort !== undefined) {
    return runs === 'image'
      ? `it listens on ${textOf(onPort)} alone, which is not reached from outside its container; it has to listen on 0.0.0.0`
      : `it listens on ${textOf(onPort)}, not on 127.0.0.1`;
  }
  const ports = [...new Set(listeners.map(({ port }) => port))].sort((a, b) => a - b);
  if (ports.length === 0) return null;
  const shown = ports.slice(0, shownMax).map((port) => {
    const places = listeners.filter((one) => one.port === port).map(textOf);
    return `${String(port)} (${[...new Set(places)].join(', ')})`;
  });
  const more = ports.length > shownMax ? ` and ${String(ports.length - shownMax)} more` : '';
  const word = ports.length === 1 ? 'port' : 'ports';
  return `it listens on ${word} ${shown.join(', ')}${more}, not on PORT ${String(shownPort)}`;
}

function textOf({ address, port }: Listener): string {
  return `${address.includes(':') ? `[${address}]` : address}:${String(port)}`;
}

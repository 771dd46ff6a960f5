/** Owns who hears a driver's events. A listener that throws is logged; the others still hear. */
import type { Logger } from '../lib/log.ts';
import type { DriverEvent } from './driver.ts';

type Listener = (event: DriverEvent) => void;

export class EventListeners {
  readonly #logger: Logger;
  readonly #listeners = new Set<Listener>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The returned function ends it. */
  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(event: DriverEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.error({ err: error }, 'driver_listener_failed');
      }
    }
  }

  close(): void {
    this.#listeners.clear();
  }
}

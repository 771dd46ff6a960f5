/**
 * Owns the one stream of events from the daemon.
 *
 * 1. Changes of our containers are reported as they happen.
 * 2. When the daemon is not reached, or answers nothing any more, `disconnected` is reported once. The
 *    stream is opened again with backoff. Then `connected` is reported with all workloads, so that no
 *    change is missed.
 */
import type { Logger } from '../../../lib/log.ts';
import type { Workload } from '../../../protocol/workload.ts';
import { type Engine, isAway, pause } from './engine.ts';
import type { EventListeners } from '../../event-listeners.ts';
import { LineReader } from '../logs/line-reader.ts';
import type { KnownSpec, Names } from './names.ts';

export interface EventStreamParts {
  engine: Engine;
  names: Names;
  logger: Logger;
  list: () => Promise<Workload[]>;
  refresh: (id: string) => Promise<void>;
  vanished: (container: { id: string; name: string }, spec: KnownSpec) => void;
  listeners: Pick<EventListeners, 'tell'>;
  /** Further types of events, and who hears them. */
  wider?: { types: readonly string[]; hear: (event: EngineEvent) => void };
}

export interface EngineEvent {
  Type: string;
  Action: string;
  Actor: { ID: string; Attributes: Record<string, string> };
}

/** Events that change a state; `kill`, `exec_start` and others do not. */
const actions = ['start', 'die', 'pause', 'unpause', 'oom', 'destroy'];
const retryMinMs = 50;
const retryMaxMs = 2000;

export class EventStream {
  readonly #parts: EventStreamParts;
  #first: Promise<void> | undefined;
  /** Whether `disconnected` was reported last. */
  #away = false;

  constructor(parts: EventStreamParts) {
    this.#parts = parts;
  }

  /** Begins once. Resolves when the first attempt has ended, whether the daemon was there or not. */
  begin(): Promise<void> {
    this.#first ??= new Promise((resolve) => {
      void this.#live(resolve);
    });
    return this.#first;
  }

  async #live(tried: () => void): Promise<void> {
    const { engine, logger, listeners } = this.#parts;
    for (let pauseMs = retryMinMs; ; pauseMs = Math.min(pauseMs * 2, retryMaxMs)) {
      const connected = await this.#connection(tried);
      if (engine.closed.aborted) return;
      if (connected || !this.#away) {
        pauseMs = retryMinMs;
        this.#away = true;
        logger.warn({}, 'docker_not_reached');
        listeners.tell({ type: 'disconnected' });
      }
      tried();
      await pause(pauseMs, engine.closed);
    }
  }

  /** Reads one stream to its end. Returns whether `connected` was reported. */
  async #connection(tried: () => void): Promise<boolean> {
    const { engine, logger, listeners } = this.#parts;
    let connected = false;
    const over = new AbortController();
    try {
      const stream = await this.#open(over.signal);
      const workloads = await this.#parts.list();
      listeners.tell({ type: 'connected', workloads });
      connected = true;
      this.#away = false;
      tried();
      void engine.watchOver(over);
      await this.#read(stream);
    } catch (error) {
      if (!engine.closed.aborted && !isAway(error)) {
        logger.warn({ err: error }, 'docker_events_failed');
      }
    } finally {
      over.abort();
    }
    return connected;
  }

  #open(signal: AbortSignal): Promise<NodeJS.ReadableStream> {
    const { engine, names, wider } = this.#parts;
    const ours = {
      type: ['container'],
      label: names.labelFilter(),
      event: actions,
    };
    // Other types have no labels in their events, so their listener has to tell which are ours.
    const filters: Record<string, string[]> = wider
      ? { type: ['container', ...wider.types] }
      : ours;
    return engine.begin((docker) => docker.getEvents({ filters }), signal);
  }

  async #read(stream: NodeJS.ReadableStream): Promise<void> {
    const lines = new LineReader();
    for await (const chunk of stream) {
      for (const line of lines.push(chunk as Buffer)) this.#hear(line);
    }
  }

  #hear(line: string): void {
    const { names, logger, refresh, vanished, wider } = this.#parts;
    const event = JSON.parse(line) as EngineEvent;
    const { Action: action, Actor: actor } = event;
    if (event.Type !== 'container') {
      wider?.hear(event);
      return;
    }
    const spec = names.specOf(actor.Attributes);
    if (!spec || !actions.includes(action)) return;
    if (action === 'destroy') {
      vanished({ id: actor.ID, name: actor.Attributes['name'] ?? '' }, spec);
      return;
    }
    refresh(spec.id).catch((error: unknown) => {
      // It is reported again, with all others, when the daemon is back.
      logger.debug({ err: error, workload: spec.id }, 'docker_event_not_followed');
    });
  }
}

/**
 * Owns how earlier runs of a container ended. When the daemon starts it again, it forgets everything
 * but the time of the end.
 *
 * 1. The daemon is asked once for each end, and only for its latest events. What it no longer knows
 *    stays unknown.
 */
import type { Exit } from '../../../protocol/workload.ts';
import { LineReader } from '../logs/line-reader.ts';
import type { WorkloadsParts } from './daemon-workloads.ts';
import { type ContainerView, exitBy, exitOf, unknownExit } from './states.ts';

type LastEndsParts = Pick<WorkloadsParts, 'engine' | 'clock' | 'logger'>;

interface EndEvent {
  Action: string;
  timeNano: number;
  Actor: { Attributes: Record<string, string> };
}

/** The events of an end lie within this time around it. */
const marginS = 5;
const askMs = 5000;

export class LastEnds {
  readonly #parts: LastEndsParts;
  readonly #known = new Map<string, Exit>();

  constructor(parts: LastEndsParts) {
    this.#parts = parts;
  }

  /** How a container that runs again, or is about to, ended last. */
  async of(view: ContainerView): Promise<Exit> {
    const { Id: id, State: state } = view;
    const known = this.#known.get(id);
    if (known?.atMs === Date.parse(state.FinishedAt)) return known;
    const exit = state.Status === 'running' ? await this.#ask(view) : exitOf(view, 'exited');
    this.#known.set(id, exit);
    return exit;
  }

  forget(container: string): void {
    this.#known.delete(container);
  }

  async #ask(view: ContainerView): Promise<Exit> {
    const { engine, clock, logger } = this.#parts;
    const atMs = Date.parse(view.State.FinishedAt);
    const filters = { container: [view.Id], event: ['die', 'oom'] };
    const since = Math.floor(atMs / 1000) - marginS;
    const until = Math.min(Math.ceil(atMs / 1000) + marginS, clock.now() / 1000);
    const signal = AbortSignal.any([AbortSignal.timeout(askMs), engine.closed]);
    try {
      const stream = await engine.begin(
        (docker) => docker.getEvents({ since, until, filters, abortSignal: signal }),
        signal,
      );
      const lines = new LineReader();
      const events: EndEvent[] = [];
      for await (const chunk of stream) {
        for (const line of lines.push(chunk as Buffer)) events.push(JSON.parse(line) as EndEvent);
      }
      const died = events.findLast(({ Action: action }) => action === 'die');
      const code = died?.Actor.Attributes['exitCode'];
      if (code === undefined) return unknownExit(view);
      const isShort = events.some(({ Action: action }) => action === 'oom');
      return exitBy(view, 'exited', { code: Number(code), isShort, atMs });
    } catch (error) {
      logger.debug({ err: error, container: view.Id }, 'container_end_not_asked');
      return unknownExit(view);
    }
  }
}

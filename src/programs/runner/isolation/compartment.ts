/**
 * Owns where the programs of one workload run: its control groups, and the namespaces it is in.
 *
 * 1. Both last over its restarts. What the system has ended is made anew for the next run.
 * 2. What runs beside its program, such as a command, has a part of its own in the groups: by that it is
 *    known, whatever it carries in its environment.
 * 3. Its address is not given back while anybody might still go there to reach it.
 */
import type { ControlGroup } from '../../../lib/processes/processes.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Place } from '../../../protocol/terminal-messages.ts';
import type { WorkloadSpec } from '../../../protocol/workload.ts';
import type { Confinement } from '../limits/confinement.ts';
import type { WorkloadNetwork } from '../network/networks.ts';
import type { Enclosure, Isolation } from './isolation.ts';

export interface CompartmentParts {
  spec: WorkloadSpec;
  /** A folder of ours, for the workload. */
  dir: string;
  isolation: Isolation;
  confinement: Confinement;
  /** Resolves when nobody goes any more to where it served. */
  left: () => Promise<void>;
  logger: Logger;
}

/** Where something beside the workload's own program runs. */
export interface Part {
  place: Place | null;
  /** See `Membership`. */
  group?: ControlGroup | undefined;
  within?: ControlGroup | undefined;
  /** Forgets it, once what ran there is gone. */
  readonly close: () => void;
}

export class Compartment {
  readonly #parts: CompartmentParts;
  #enclosure: Enclosure | undefined;
  /** Whether its control groups take it. */
  #isConfined: boolean;

  constructor(parts: CompartmentParts) {
    this.#parts = parts;
    this.#isConfined = parts.confinement.holds;
  }

  /** Its own, which it keeps over its restarts; null: it has the machine's. */
  get network(): WorkloadNetwork | null {
    return this.#enclosure?.network ?? null;
  }

  /** Whether the process that we start waits outside for the one that runs inside. */
  get waits(): boolean {
    return this.#enclosure !== undefined;
  }

  /** What holds its processes together; undefined: nothing does. */
  get group(): ControlGroup | undefined {
    if (this.#isConfined && this.#parts.confinement.holds) return this.#parts.confinement;
    return this.#enclosure?.group ?? undefined;
  }

  get place(): Place | null {
    return this.#within(this.#isConfined ? this.#parts.confinement.place : null);
  }

  /** Before each run. `address`: that it had before. Rejects with an Error: it cannot be isolated. */
  async prepare(address: string | null): Promise<void> {
    const { isolation, spec, dir, confinement, logger } = this.#parts;
    if (this.#enclosure?.holds !== true) {
      await this.#leave();
      this.#enclosure = await isolation.enclose(spec, dir, address);
    }
    try {
      confinement.open();
      this.#isConfined = true;
    } catch (error) {
      // It runs without its limits rather than not at all.
      logger.error({ err: error, workload: spec.id }, 'limits_not_set');
      this.#isConfined = false;
    }
  }

  /** Throws when the workload is gone. */
  part(name: string): Part {
    const { confinement } = this.#parts;
    const part = this.#isConfined ? confinement.part?.(name) : undefined;
    if (part === undefined) {
      return { place: this.place, within: this.group, close: () => undefined };
    }
    return { place: this.#within(part.place), group: part, close: () => part.close() };
  }

  /** When all its processes are gone. */
  close(): void {
    this.#parts.confinement.close();
    this.#leave().catch((error: unknown) => {
      this.#parts.logger.error(
        { err: error, workload: this.#parts.spec.id },
        'namespaces_not_left',
      );
    });
  }

  async #leave(): Promise<void> {
    const enclosure = this.#enclosure;
    this.#enclosure = undefined;
    if (enclosure === undefined) return;
    if (enclosure.network !== null) await this.#parts.left();
    await enclosure.close();
  }

  #within(place: Place | null): Place | null {
    const enter = this.#parts.isolation.enterOf(this.#enclosure);
    if (enter.length === 0) return place;
    const terminals = this.#enclosure?.terminals;
    const { join = [], limiter = null } = place ?? {};
    return { join, limiter, enter, ...(terminals !== undefined && { terminals }) };
  }
}

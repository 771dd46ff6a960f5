/**
 * Owns the bound on the processes of a build's steps: the classic builder gives its containers none.
 *
 * 1. A step is bounded as it begins, as soon as the daemon answers.
 * 2. What a step prints can neither bound another's container nor keep its own unbounded.
 */
import type { Logger } from '../../../lib/log.ts';
import type { Engine } from '../engine/engine.ts';
import { orGone } from '../engine/engine.ts';
import type { Names } from '../engine/names.ts';

export interface BuildStepsParts {
  engine: Engine;
  names: Names;
  logger: Logger;
}

const pidsMax = 4096;

export class BuildSteps {
  readonly #parts: BuildStepsParts;
  readonly #bounded = new Set<string>();
  #isLooking = false;
  #again = false;

  constructor(parts: BuildStepsParts) {
    this.#parts = parts;
  }

  /** A line of the builder's; which one begins a step is no secret, so all are looked for each time. */
  hear(line: string): void {
    if (!line.startsWith(' ---> Running in ')) return;
    this.#again = true;
    if (!this.#isLooking) void this.#look();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      while (this.#again) {
        this.#again = false;
        for (const id of await this.#steps()) await this.#bound(id);
      }
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'build_step_not_bounded');
    } finally {
      this.#isLooking = false;
    }
  }

  /** Containers that builds made, of all builds. */
  async #steps(): Promise<string[]> {
    const { engine, names } = this.#parts;
    const network = names.network(null);
    const found = await engine.ask((docker) => docker.listContainers({ all: true }));
    // By name: labels may be those of an image, whoever made it.
    const isOurs = (name: string): boolean => name.startsWith(`/${names.container('')}`);
    return found.flatMap(({ Id: id, HostConfig: { NetworkMode: mode }, Names: called }) =>
      mode === network && !called.some(isOurs) ? [id] : [],
    );
  }

  async #bound(id: string): Promise<void> {
    if (this.#bounded.has(id)) return;
    try {
      await this.#parts.engine.ask((docker) =>
        orGone(docker.getContainer(id).update({ PidsLimit: pidsMax })),
      );
      this.#bounded.add(id);
    } catch (error) {
      // One that ended meanwhile, or is of another build, keeps no other from its bound.
      this.#parts.logger.warn({ id, err: error }, 'build_step_not_bounded');
    }
  }
}

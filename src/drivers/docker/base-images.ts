/**
 * Owns the images that builds of the classic builder start from, which it takes from the daemon by
 * their own names.
 *
 * 1. What a login fetched is there under its own name only while builds last that fetched it with a
 *    login of their own: whoever has none does not get it.
 * 2. What an image does to those who build on it, by ONBUILD, is held to the rules of a Dockerfile.
 */
import type Dockerode from 'dockerode';

import { ServiceError } from '../../lib/errors.ts';
import type { ImageBuild, ImagePull } from '../driver.ts';
import { checkBuildRules } from './build-rules.ts';
import type { Names } from './names.ts';

type Say = (line: string) => void;

export interface BaseImagesParts {
  names: Names;
  /** By the very name. */
  find(reference: string, signal: AbortSignal): Promise<Dockerode.ImageInspectInfo | undefined>;
  fetch(spec: ImagePull, say: Say, signal: AbortSignal): Promise<void>;
  discard(reference: string): Promise<void>;
  /** Whether one of the logins is for where it lies. */
  hasLogin(spec: ImagePull): boolean;
}

export class BaseImages {
  readonly #parts: BaseImagesParts;
  /** How many builds hold what a login fetched. */
  readonly #lent = new Map<string, number>();

  constructor(parts: BaseImagesParts) {
    this.#parts = parts;
  }

  /** Whether it is there for others alone. */
  isLent(reference: string): boolean {
    return this.#lent.has(reference);
  }

  /**
   * Fetches what is not there and looks at all of it. Returns what is to be called when the build is
   * over. Rejects as Images do; what cannot be had is left to the builder's own words.
   */
  async prepare(
    spec: ImageBuild,
    bases: readonly string[],
    say: Say,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    const held: string[] = [];
    const giveBack = async (): Promise<void> => {
      for (const reference of held) await this.#giveBack(reference);
    };
    try {
      for (const reference of bases) {
        await this.#have({ ...spec, reference }, held, say, signal);
        const found = await this.#parts.find(reference, signal);
        const triggers = (found?.Config.OnBuild as string[] | null | undefined) ?? [];
        checkBuildRules(triggers.join('\n'), {}, this.#parts.names);
      }
    } catch (error) {
      await giveBack();
      throw error;
    }
    return giveBack;
  }

  async #have(pull: ImagePull, held: string[], say: Say, signal: AbortSignal): Promise<void> {
    const { reference } = pull;
    const isLent = this.isLent(reference);
    if (!isLent && (await this.#parts.find(reference, signal)) !== undefined) return;
    const hasLogin = this.#parts.hasLogin(pull);
    // Before it is there: nobody may take it for the server's own.
    if (hasLogin) {
      this.#lent.set(reference, (this.#lent.get(reference) ?? 0) + 1);
      held.push(reference);
    }
    try {
      say(`Pulling ${reference}.`);
      await this.#parts.fetch(pull, say, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isLent || !(error instanceof ServiceError)) throw error;
    }
  }

  async #giveBack(reference: string): Promise<void> {
    const left = (this.#lent.get(reference) ?? 1) - 1;
    if (left > 0) {
      this.#lent.set(reference, left);
      return;
    }
    await this.#parts.discard(reference);
    this.#lent.delete(reference);
  }
}

/**
 * Owns the images that builds of the classic builder start from, which it takes from the daemon by
 * their own names.
 *
 * 1. What a login fetched is there under its own name only while builds last that fetched it with a
 *    login of their own: whoever has none does not get it, also after a crash.
 * 2. What an image does to those who build on it, by ONBUILD, is held to the rules of a Dockerfile.
 * 3. No build begins without what it starts from: another's login might have fetched it meanwhile.
 */
import type Dockerode from 'dockerode';

import type { ImageBuild, ImagePull } from '../../driver.ts';
import { checkBuildRules } from './build-rules.ts';
import { mayBeId } from './dockerfile-bases.ts';
import type { Takings } from './dockerfile-bases.ts';
import { unreachable } from '../engine/engine.ts';
import type { Loans } from './borrowed-images.ts';
import type { Names } from '../engine/names.ts';
import type { Turns } from '../engine/keyed-queue.ts';

type Say = (line: string) => void;

export interface BaseImagesParts {
  names: Names;
  loans: Loans;
  /** By reference, of all that fetch and discard: what is lent changes only in its turn. */
  turns: Turns;
  /** By the very name. */
  find(reference: string, signal: AbortSignal): Promise<Dockerode.ImageInspectInfo | undefined>;
  fetch(spec: ImagePull, say: Say, signal: AbortSignal): Promise<void>;
  /** Whether it is gone. Never rejects. */
  discard(reference: string): Promise<boolean>;
  /** Whether one of the logins is for where it lies. */
  hasLogin(spec: ImagePull): boolean;
}

export class BaseImages {
  readonly #parts: BaseImagesParts;
  /** How many builds hold what a login fetched. */
  readonly #lent = new Map<string, number>();
  /** What nobody holds any more, and is not gone. */
  readonly #left: Set<string>;
  readonly #waiting = new Set<() => void>();

  constructor(parts: BaseImagesParts) {
    this.#parts = parts;
    this.#left = new Set(parts.loans.left());
  }

  /** Discards what builds of an earlier process left. Never rejects. */
  async open(): Promise<void> {
    for (const reference of [...this.#left]) await this.#discardLeft(reference);
  }

  /** Whether it is there for others alone. */
  isLent(reference: string): boolean {
    return this.#lent.has(reference) || this.#left.has(reference);
  }

  /** Waits until none of them is there for others alone. */
  async settled(references: readonly string[], say: Say, signal: AbortSignal): Promise<void> {
    let told = '';
    for (;;) {
      signal.throwIfAborted();
      const reference = references.find((one) => this.isLent(one));
      if (reference === undefined) return;
      if (this.#left.has(reference)) {
        if (!(await this.#discardLeft(reference))) throw unreachable();
        continue;
      }
      if (told !== reference) say(`Waiting for a build that fetched ${reference} with a login.`);
      told = reference;
      await this.#nextEnd(signal);
    }
  }

  /**
   * Fetches what is not there and looks at all of it. Returns what is to be called when the build is
   * over. Rejects as Images do.
   */
  async prepare(
    spec: ImageBuild,
    { bases, stages }: Pick<Takings, 'bases' | 'stages'>,
    say: Say,
    signal: AbortSignal,
  ): Promise<() => Promise<void>> {
    const parts = this.#parts;
    const held: string[] = [];
    const giveBack = async (): Promise<void> => {
      for (const reference of held) await this.#giveBack(reference);
    };
    // A trigger may come before the stage; then its name could be the beginning of an id.
    const named = new Set([...stages.names].filter((name) => !mayBeId(name)));
    try {
      for (const reference of bases) {
        await parts.turns.take(reference, () =>
          this.#have({ ...spec, reference }, held, say, signal),
        );
        const found = await parts.find(reference, signal);
        const triggers = (found?.Config.OnBuild as string[] | null | undefined) ?? [];
        checkBuildRules(triggers.join('\n'), {}, parts.names, { ...stages, names: named });
      }
    } catch (error) {
      await giveBack();
      throw error;
    }
    return giveBack;
  }

  async #have(pull: ImagePull, held: string[], say: Say, signal: AbortSignal): Promise<void> {
    const parts = this.#parts;
    const { reference } = pull;
    signal.throwIfAborted();
    if (this.#left.has(reference) && !(await this.#end(reference))) throw unreachable();
    if (!this.isLent(reference) && (await parts.find(reference, signal)) !== undefined) return;
    // Before it is there: nobody may take it for the server's own.
    if (parts.hasLogin(pull)) {
      const before = this.#lent.get(reference) ?? 0;
      if (before === 0) parts.loans.add(reference);
      this.#lent.set(reference, before + 1);
      held.push(reference);
    }
    say(`Pulling ${reference}.`);
    await parts.fetch(pull, say, signal);
  }

  #giveBack(reference: string): Promise<void> {
    return this.#parts.turns.take(reference, async () => {
      const left = (this.#lent.get(reference) ?? 1) - 1;
      if (left > 0) this.#lent.set(reference, left);
      else await this.#end(reference);
    });
  }

  #discardLeft(reference: string): Promise<boolean> {
    return this.#parts.turns.take(reference, async () => {
      return !this.#left.has(reference) || (await this.#end(reference));
    });
  }

  /** In its turn. */
  async #end(reference: string): Promise<boolean> {
    const isGone = await this.#parts.discard(reference);
    this.#lent.delete(reference);
    if (isGone) {
      this.#left.delete(reference);
      this.#parts.loans.forget(reference);
    } else {
      this.#left.add(reference);
    }
    for (const wake of [...this.#waiting]) wake();
    return isGone;
  }

  #nextEnd(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}

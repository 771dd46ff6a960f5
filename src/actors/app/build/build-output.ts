/**
 * Owns the writing of a builder's output to the deployment's log.
 *
 * 1. A builder that floods its output causes few writes, and takes at most `keptMaxChars` of the disk.
 * 2. Every line comes before what is written after `flush`.
 */
import type { Clock } from '../../../lib/clock.ts';
import { failureMark } from './dockerfile.ts';

const flushMs = 50;
const heldMaxChars = 64 * 1024;
const keptMaxChars = 32 * 1024 * 1024;
const lineMaxChars = 16 * 1024;

export class BuildOutput {
  readonly #say: (text: string) => void;
  readonly #clock: Clock;
  #held: string[] = [];
  #heldChars = 0;
  #keptChars = 0;
  #reason: string | null = null;
  #cancel: (() => void) | null = null;

  constructor(say: (text: string) => void, clock: Clock) {
    this.#say = say;
    this.#clock = clock;
  }

  /** Why a step that we wrote failed, when the step printed a reason. */
  get reason(): string | null {
    return this.#reason;
  }

  readonly line = (line: string): void => {
    // The builder prints a step before it runs it, but that line does not begin with the mark.
    if (line.startsWith(failureMark)) this.#reason = line.slice(failureMark.length);
    if (this.#keptChars > keptMaxChars) return;
    const shown = line.slice(0, lineMaxChars);
    this.#keptChars += shown.length + 1;
    this.#hold(this.#keptChars > keptMaxChars ? 'The rest of the output is not kept.' : shown);
  };

  /** Writes the held lines. More lines may follow. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#held.length === 0) return;
    this.#say(this.#held.join('\n'));
    this.#held = [];
    this.#heldChars = 0;
  }

  #hold(line: string): void {
    this.#held.push(line);
    this.#heldChars += line.length;
    if (this.#heldChars >= heldMaxChars) {
      this.flush();
      return;
    }
    this.#cancel ??= this.#clock.after(flushMs, () => this.flush());
  }
}

/**
 * Owns the secret values of one app as far as they are known here, with their forms.
 *
 * 1. A value that is replaced or removed stays known as one of the last `replacedMax`: older lines of
 *    the log still show it. What was replaced before the app was looked at is not known.
 */
import type { EnvRecord } from '../../store/records.ts';
import { type Form, formsOf } from './forms.ts';
import { variableName } from './spans.ts';
import type { ValueIndex } from './value-index.ts';

interface KnownSecret {
  readonly key: string;
  readonly value: string;
  readonly forms: readonly Form[];
}

const replacedMax = 32;

export class AppSecrets {
  readonly appId: string;
  readonly #current = new Map<string, KnownSecret>();
  #replaced: KnownSecret[] = [];

  constructor(appId: string) {
    this.appId = appId;
  }

  /** Takes in what a variable is now; a value of null: there is no such secret. */
  set(key: string, value: string | null): void {
    const before = this.#current.get(key);
    if (before?.value === value) return;
    if (before) this.#replaced = [before, ...this.#replaced].slice(0, replacedMax);
    if (value === null) this.#current.delete(key);
    else this.#current.set(key, { key, value, forms: formsOf(value) });
  }

  /** A value that its owner shows now was no secret, or is none any more. */
  show(value: string): void {
    this.#replaced = this.#replaced.filter((one) => one.value !== value);
  }

  addTo(index: ValueIndex, isPublic: (value: string) => boolean): void {
    for (const { key, value, forms } of [...this.#current.values(), ...this.#replaced]) {
      if (!isPublic(value)) index.add(this.appId, variableName(key), forms);
    }
  }
}

/** Opens a secret; null for what is none, and for one that cannot be opened. */
export type OpenSecret = (record: Readonly<EnvRecord>) => string | null;

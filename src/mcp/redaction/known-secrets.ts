/**
 * Owns the known secret values of one owner, an app or a database, with their forms.
 *
 * 1. The last `replacedMax` values that were replaced or removed stay known, since older lines of a log
 *    still show them. Values that were replaced before the owner was opened are not known.
 */
import { type Form, formsOf } from './forms.ts';
import type { SecretIndex } from './secret-index.ts';

interface KnownSecret {
  /** What the mark says in its place. */
  readonly what: string;
  readonly value: string;
  readonly forms: readonly Form[];
}

const replacedMax = 32;

export class KnownSecrets {
  readonly owner: string;
  readonly #current = new Map<string, readonly KnownSecret[]>();
  #replaced: readonly KnownSecret[] = [];

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Sets the values of a name. An empty list removes the name. */
  set(name: string, what: string, values: readonly string[]): void {
    const before = this.#current.get(name) ?? [];
    const now = [...new Set(values)].map(
      (value) => before.find((one) => one.value === value) ?? known(what, value),
    );
    const gone = before.filter((one) => !now.includes(one));
    if (gone.length > 0) this.#replaced = [...gone, ...this.#replaced].slice(0, replacedMax);
    if (now.length === 0) this.#current.delete(name);
    else this.#current.set(name, now);
  }

  /** Forgets a replaced value that its owner now shows to everybody. */
  show(value: string): void {
    this.#replaced = this.#replaced.filter((one) => one.value !== value);
  }

  addTo(index: SecretIndex, isPublic: (value: string) => boolean): void {
    for (const { what, value, forms } of [...this.#current.values(), this.#replaced].flat()) {
      if (!isPublic(value)) index.add(this.owner, what, forms);
    }
  }
}

function known(what: string, value: string): KnownSecret {
  return { what, value, forms: formsOf(value) };
}

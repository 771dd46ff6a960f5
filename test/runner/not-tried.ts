/** Owns the list of what a run skipped: by reason, then by file and suite, with how many tests. */

export class NotTried {
  /** Reason, then place, then how many tests. */
  readonly #counts = new Map<string, Map<string, number>>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  add(reason: string, place: string): void {
    const places = this.#counts.get(reason) ?? new Map<string, number>();
    this.#counts.set(reason, places);
    places.set(place, (places.get(place) ?? 0) + 1);
  }

  lines(): string[] {
    const lines: string[] = [];
    for (const [reason, places] of [...this.#counts].sort()) {
      const all = [...places.values()].reduce((sum, count) => sum + count, 0);
      lines.push(`  ${reason}: ${testsOf(all)}`);
      for (const [place, count] of places) lines.push(`    ${place}: ${testsOf(count)}`);
    }
    return lines;
  }
}

export function testsOf(count: number): string {
  return count === 1 ? '1 test' : `${String(count)} tests`;
}

/** Owns the statistics of rounds: medians, quantiles and how far rounds lie apart; pure. */

/** What lies in the middle of the values; NaN of none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which a share `q` (0 to 1) of the values lies, between two where it falls there. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * q;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/**
 * How many times as much ours is: the median of the rounds' own ratios, so that what slows a whole
 * round says nothing. Where the rounds are not as many, the ratio of the medians.
 */
export function medianRatio(ours: readonly number[], others: readonly number[]): number {
  if (ours.length !== others.length) return median(ours) / median(others);
  return median(ours.map((value, i) => value / (others[i] ?? Number.NaN)));
}

export interface Spread {
  min: number;
  median: number;
  max: number;
  /** From the first to the third quartile. */
  quartiles: readonly [number, number];
}

export function spreadOf(rounds: readonly number[]): Spread {
  return {
    min: Math.min(...rounds),
    median: median(rounds),
    max: Math.max(...rounds),
    quartiles: [quantile(rounds, 0.25), quantile(rounds, 0.75)],
  };
}

/**
 * Owns counting latencies in fixed memory: buckets whose width grows with what they count, so that a
 * microsecond and a minute are both told to within 1.6 %, however many are counted.
 *
 *     microseconds   0 … 63     64 … 127   128 … 255   256 … 511   …
 *     64 buckets of  1          1          2           4           …
 */
import type { LatencyMs } from '../model.ts';

const subBits = 6;
const sub = 2 ** subBits;
/** Up to 2^36 us, 19 hours: what is longer counts as that. */
const octaves = 36 - subBits;

export class Histogram {
  readonly #counts = new Float64Array((octaves + 1) * sub);
  #total = 0;
  #maxMs = 0;

  get count(): number {
    return this.#total;
  }

  record(ms: number): void {
    if (!(ms >= 0)) throw new Error(`${ms} ms is no latency`);
    const at = Math.min(bucketOf(Math.round(ms * 1000)), this.#counts.length - 1);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total += 1;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  /** Counts what another counted, too. */
  merge(other: Histogram): void {
    for (const [at, count] of other.#counts.entries()) {
      this.#counts[at] = (this.#counts[at] ?? 0) + count;
    }
    this.#total += other.#total;
    this.#maxMs = Math.max(this.#maxMs, other.#maxMs);
  }

  /** Milliseconds that a share `q` of all took at most; NaN of none. */
  quantile(q: number): number {
    if (this.#total === 0) return Number.NaN;
    const wanted = Math.max(1, Math.ceil(this.#total * q));
    let passed = 0;
    for (const [at, count] of this.#counts.entries()) {
      passed += count;
      // The longest of all lies in the last bucket that counted any.
      if (passed === this.#total) return this.#maxMs;
      if (passed >= wanted) return highestUs(at) / 1000;
    }
    return this.#maxMs;
  }

  percentiles(): LatencyMs {
    return {
      p50: this.quantile(0.5),
      p90: this.quantile(0.9),
      p99: this.quantile(0.99),
      p999: this.quantile(0.999),
      max: this.quantile(1),
    };
  }
}

function bucketOf(us: number): number {
  if (us < sub) return us;
  const octave = Math.floor(Math.log2(us)) - subBits;
  // Within its octave us / 2^octave goes from 64 to 127.
  return (octave + 1) * sub + Math.floor(us / 2 ** octave) - sub;
}

/** The most microseconds that this bucket counts. */
function highestUs(at: number): number {
  if (at < sub) return at;
  const octave = Math.floor(at / sub) - 1;
  return (at - octave * sub + 1) * 2 ** octave - 1;
}

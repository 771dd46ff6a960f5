/** Owns sets of UTF-16 code units: those that expressions name, and their other cases. */

/** From, to: both belong to the set. Ascending, apart from each other. */
export type Ranges = readonly (readonly [number, number])[];

export const unitMax = 0xffff;

export const digits: Ranges = [[0x30, 0x39]];
export const wordCharacters: Ranges = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
export const spaces: Ranges = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
export const lineEnds: Ranges = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

/** The same set, in order and without overlaps. */
export function normal(ranges: Ranges): Ranges {
  const joined: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

export function complement(ranges: Ranges): Ranges {
  const others: [number, number][] = [];
  let next = 0;
  for (const [from, to] of normal(ranges)) {
    if (from > next) others.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= unitMax) others.push([next, unitMax]);
  return others;
}

let casesOf: Map<number, readonly number[]> | undefined;

/** The set with the other cases of all that is in it, as JavaScript's flag `i` takes them. */
export function withCases(ranges: Ranges): Ranges {
  const all: (readonly [number, number])[] = [...ranges];
  casesOf ??= otherCases();
  for (const [unit, cases] of casesOf) {
    if (!ranges.some(([from, to]) => unit >= from && unit <= to)) continue;
    for (const other of cases) all.push([other, other]);
  }
  return normal(all);
}

/** Of each unit that has cases: all units that are the same but for their case. */
function otherCases(): Map<number, readonly number[]> {
  const same = new Map<number, number[]>();
  for (let unit = 0; unit <= unitMax; unit++) {
    const folded = foldedOf(unit);
    const known = same.get(folded);
    if (known) known.push(unit);
    else same.set(folded, [unit]);
  }
  const cases = new Map<number, readonly number[]>();
  for (const units of same.values()) {
    if (units.length > 1) for (const unit of units) cases.set(unit, units);
  }
  return cases;
}

/** ECMA-262, Canonicalize without the flag `u`. */
function foldedOf(unit: number): number {
  const upper = String.fromCharCode(unit).toUpperCase();
  const folded = upper.charCodeAt(0);
  if (upper.length !== 1) return unit;
  return unit >= 128 && folded < 128 ? unit : folded;
}

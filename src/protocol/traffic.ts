/**
 * Owns how the visitors of an app are counted: some numbers in a fixed order, so that counts are added, stored and
 * sent without knowing what they mean.
 *
 *     | requests of each class | of each span of durations | seconds of those | bytes in | bytes out |
 */

/**
 * By the status of the app's answer, else `edge`: the edge answered in the app's place, or `aborted`: it ended
 * without an answer.
 */
export const trafficClasses = ['2xx', '3xx', '4xx', '5xx', 'edge', 'aborted'] as const;
export type TrafficClass = (typeof trafficClasses)[number];

/** Upper bounds of the spans, in seconds; the last span has none. Only what the app answered has a duration. */
export const durationBoundsS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;

const durationsAt = trafficClasses.length;
const secondsAt = durationsAt + durationBoundsS.length + 1;
/** Where what begins in the counts. */
export const trafficAt = {
  classes: 0,
  durations: durationsAt,
  seconds: secondsAt,
  bytesIn: secondsAt + 1,
  bytesOut: secondsAt + 2,
} as const;
export const trafficNumbers = secondsAt + 3;

/** No app has this id: what the edge answers by itself, before it is said whose request it is. */
export const ownTraffic = 'edge';

/** All counts of an app, as many as `trafficNumbers`. */
export type TrafficCounts = Float64Array;

/** What an edge tells of one app. */
export interface TrafficReport {
  app: string;
  /** Of these counts, among all that this process of the edge ever began: they began at zero. */
  life: number;
  counts: readonly number[];
  /** WebSockets open now. */
  sockets: number;
}

/** An app's traffic since it was first deployed. */
export interface AppTraffic {
  counts: TrafficCounts;
  /** WebSockets open now. */
  sockets: number;
}

/** As it crosses to Gangway: the bytes of the counts, little-endian. */
export type PlainTraffic = [app: string, counts: Uint8Array, sockets: number];

export function newCounts(): TrafficCounts {
  return new Float64Array(trafficNumbers);
}

export function countsToBytes(counts: TrafficCounts): Buffer {
  return Buffer.from(counts.buffer, counts.byteOffset, counts.byteLength);
}

/** A copy. Throws RangeError for fewer bytes than counts have. */
export function countsFromBytes(bytes: Uint8Array): TrafficCounts {
  const counts = newCounts();
  if (bytes.length < counts.byteLength) throw new RangeError('Cannot read counts: cut short');
  countsToBytes(counts).set(bytes.subarray(0, counts.byteLength));
  return counts;
}

export function trafficByApp(plain: readonly PlainTraffic[]): ReadonlyMap<string, AppTraffic> {
  return new Map(
    plain.map(([app, counts, sockets]) => [app, { counts: countsFromBytes(counts), sockets }]),
  );
}

/** Of several edges together. */
export function sumOfTraffic(
  edges: readonly ReadonlyMap<string, AppTraffic>[],
): ReadonlyMap<string, AppTraffic> {
  const [first = new Map<string, AppTraffic>(), ...others] = edges;
  const sum = new Map(first);
  for (const [app, { counts, sockets }] of others.flatMap((edge) => [...edge])) {
    const known = sum.get(app) ?? { counts: newCounts(), sockets: 0 };
    const added = known.counts.map((count, at) => count + (counts[at] ?? 0));
    sum.set(app, { counts: added, sockets: known.sockets + sockets });
  }
  return sum;
}

export function requestsOf(counts: ArrayLike<number>): number {
  let requests = 0;
  for (let at = 0; at < trafficClasses.length; at++) requests += counts[at] ?? 0;
  return requests;
}

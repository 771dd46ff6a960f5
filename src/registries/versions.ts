/** Owns how tags and releases become versions to pick from: newest first, each series once. Pure. */
import { lifecycleOf } from './lifecycles.ts';
import type { FoundTag, NodeRelease } from './questions.ts';

export interface PickedVersion {
  /** What is chosen, such as `18`. */
  version: string;
  /** The newest of it, such as `18.4-alpine`. */
  tag: string;
  lts: boolean;
  /** `YYYY-MM-DD`. */
  endOfLife: string | null;
}

/** The tags that an engine's versions may have. */
export interface EngineTags {
  /** For lifecycles. */
  product: string;
  versions: readonly string[];
  /** The tag of a version, such as `18-alpine`. */
  tagOf: (version: string) => string;
}

const seriesMax = 12;

/** Numbers in a version, and texts between them, by turns; the newer is greater. */
export function compareVersions(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

/** Those of an engine's versions that the registry has. `latest` and its like name no version of their own. */
export function engineVersions(tags: readonly FoundTag[], engine: EngineTags): PickedVersion[] {
  const found = engine.versions.flatMap((version) => {
    const tag = newestTag(tags, engine.tagOf(version), version);
    return tag === null ? [] : [{ version, tag, ...lifecycleOf(engine.product, version) }];
  });
  return newestFirst(found);
}

/** The most exact tag of a version: of `18-alpine` it is `18.4-alpine`. Null: there is none. */
function newestTag(tags: readonly FoundTag[], tag: string, version: string): string | null {
  const at = tag.indexOf(version);
  const [before, after] = [tag.slice(0, at), tag.slice(at + version.length)];
  const exact = tags
    .map((one) => one.tag)
    .filter((name) => {
      if (!name.startsWith(before + version) || !name.endsWith(after)) return false;
      return /^(\.\d+)*$/.test(name.slice((before + version).length, name.length - after.length));
    });
  return exact.sort(compareVersions).at(-1) ?? null;
}

/** The newest tag of each series of numbers alone, such as `3.14.2` of `3.14`. */
export function languageVersions(tags: readonly FoundTag[], product: string): PickedVersion[] {
  const plain = tags.map(({ tag }) => tag).filter((tag) => /^\d+\.\d+(\.\d+)?$/.test(tag));
  return bySeries(plain, product, 2);
}

/** The newest release of each major version. */
export function packageVersions(versions: readonly string[], product: string): PickedVersion[] {
  return bySeries(versions, product, 1);
}

export function nodeVersions(releases: readonly NodeRelease[]): PickedVersion[] {
  const withLts = new Set(releases.filter(({ lts }) => lts).map(({ version }) => majorOf(version)));
  return bySeries(
    releases.map(({ version }) => version),
    'node',
    1,
  ).map((one) => ({ ...one, lts: withLts.has(one.version) }));
}

function bySeries(versions: readonly string[], product: string, parts: number): PickedVersion[] {
  const newest = new Map<string, string>();
  for (const version of versions) {
    const series = version.split('.').slice(0, parts).join('.');
    const known = newest.get(series);
    if (known === undefined || compareVersions(known, version) < 0) newest.set(series, version);
  }
  const found = Array.from(newest, ([version, tag]) => ({
    version,
    tag,
    ...lifecycleOf(product, version),
  }));
  return newestFirst(found).slice(0, seriesMax);
}

function newestFirst(versions: readonly PickedVersion[]): PickedVersion[] {
  return versions.toSorted((one, other) => compareVersions(other.version, one.version));
}

function majorOf(version: string): string {
  return version.split('.')[0] ?? version;
}

/** By the time of the push where all tell it, else by their names. */
export function sortedTags(tags: readonly FoundTag[]): FoundTag[] {
  return tags.toSorted(
    (one, other) =>
      (other.pushedAt ?? '').localeCompare(one.pushedAt ?? '') ||
      compareVersions(other.tag, one.tag),
  );
}

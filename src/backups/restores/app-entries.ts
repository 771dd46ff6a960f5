/** Owns what an artifact of an app may hold: `app.json`, `upload/<filename>` and `volumes/<name>/…`. */
import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import { ServiceError } from '../../lib/errors.ts';
import { staysBelow } from '../tar/tar-tree.ts';
import { unfit } from './failures.ts';

export const settingsName = 'app.json';

/** What is in a tar. */
export interface Found {
  volumes: Set<string>;
  upload: string | null;
  hasSettings: boolean;
}

/** The upload of an artifact; `content` is read before the next entry is. */
export interface CameUpload {
  filename: string;
  content: AsyncIterable<Uint8Array>;
}

export function nothingFound(): Found {
  return { volumes: new Set(), upload: null, hasSettings: false };
}

/** Notes what it is. Throws ARTIFACT_UNFIT, and ARCHIVE_UNSAFE_ENTRY for a link that leaves its volume. */
export function checkEntry(entry: ArchiveEntry, found: Found): boolean {
  const { path, kind } = entry;
  const [top = '', second, ...rest] = path.split('/');
  const isFolder = kind === 'directory';
  if (path === '') return true;
  if (path === settingsName && kind === 'file') {
    found.hasSettings = true;
    return true;
  }
  if (
    top === 'upload' &&
    rest.length === 0 &&
    (second === undefined ? isFolder : kind === 'file')
  ) {
    if (second !== undefined) found.upload = second;
    return true;
  }
  if (top !== 'volumes' || (rest.length === 0 && !isFolder)) {
    throw unfit(`The artifact holds what is no part of an app: ${JSON.stringify(path)}.`);
  }
  if (second === undefined) return true;
  found.volumes.add(second);
  if (kind === 'symlink' || kind === 'hardlink')
    checkLink(entry, `volumes/${second}/`, rest.length);
  return true;
}

function checkLink({ path, kind, target }: ArchiveEntry, volume: string, depth: number): void {
  const isSafe = kind === 'symlink' ? staysBelow(target, depth - 1) : target.startsWith(volume);
  if (isSafe) return;
  const sentence = `The artifact holds a link that leaves its volume: ${JSON.stringify(path)}.`;
  throw new ServiceError('ARCHIVE_UNSAFE_ENTRY', sentence);
}

/** Tells which of its volumes the app does not have. */
export function tellUnknown(
  found: Found,
  known: ReadonlySet<string>,
  log: (line: string) => void,
): void {
  const unknown = [...found.volumes].filter((name) => !known.has(name));
  if (unknown.length > 0) log(`The app has no volume ${unknown.join(', ')}: it is left out.`);
}

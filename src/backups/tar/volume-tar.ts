/**
 * Owns the files of volumes on their way from a driver into an artifact.
 *
 * 1. What no artifact may hold (devices, pipes, names that are no UTF-8, links that lead out of their volume)
 *    stays out, and is told. A hard link stays only where its file did.
 * 2. A file that shrinks while it is read cuts off what the driver gives: the file is filled up with zeros,
 *    and the rest is read anew, from the next name on. So often as that brings it further, up to a bound.
 * 3. Memory does not grow with the number of files.
 */
import { ServiceError } from '../../lib/errors.ts';
import { depthMax } from '../../lib/untrusted-files/folder.ts';
import { paddingOf, tarHeaders } from './tar-header.ts';
import { CutOff, type TarItem, TarReader } from './tar-reader.ts';
import { isKeepable, pathBytesMax, staysBelow, type TarTree, zeros } from './tar-tree.ts';

const readingsMax = 50;
const slash = 0x2f;
const kinds = { '0': 'file', '1': 'hardlink', '2': 'link', '5': 'folder' } as const;
type Kind = (typeof kinds)[keyof typeof kinds];

export interface VolumeReading {
  /** All of the volumes from the beginning, as `Volumes.read`; called again where it was cut off. */
  read: () => AsyncIterable<Uint8Array>;
  missed: NonNullable<TarTree['missed']>;
}

/** The entries of an artifact below `volumes/`. Throws DUMP_FAILED, and what `read` throws. */
export async function* volumesTar({ read, missed }: VolumeReading): AsyncGenerator<Uint8Array> {
  let place = null as Place | null;
  for (let readings = 1; ; readings++) {
    const passed = place;
    const tar = new TarReader(read());
    try {
      for (let item = await tar.next(); item !== null; item = await tar.next()) {
        const name = nameOf(item);
        if (passed !== null && !isBehind(name, passed.name)) continue;
        place = { name, left: 0 };
        yield* entryOf(item, name, { tar, place, passed, missed });
      }
      return;
    } catch (error) {
      if (!(error instanceof CutOff)) throw error;
      if (place === passed || readings === readingsMax) {
        throw new ServiceError('DUMP_FAILED', 'The files of a volume change too fast to be read.');
      }
      yield* zeros(place?.left ?? 0);
    } finally {
      await tar.close();
    }
  }
}

/** How far it came: to this entry, of which so many bytes are still to come, with its padding. */
interface Place {
  readonly name: Buffer;
  left: number;
}

interface Entry {
  tar: TarReader;
  place: Place;
  /** Where an earlier reading was cut off. */
  passed: Place | null;
  missed: VolumeReading['missed'];
}

async function* entryOf(
  item: TarItem,
  name: Buffer,
  { tar, place, passed, missed }: Entry,
): AsyncGenerator<Uint8Array> {
  const path = name.toString();
  const kind = (kinds as Partial<Record<string, Kind>>)[item.flag];
  const why = kind === undefined ? 'special' : whyNot(item, kind, name, passed);
  if (path === 'volumes') return;
  if (why !== null || kind === undefined) return missed(path, why ?? 'special');
  const full = kind === 'folder' ? Buffer.concat([name, Buffer.from('/')]) : name;
  const size = kind === 'file' ? item.size : 0;
  yield tarHeaders({ ...item, name: full, type: kind, size });
  if (kind !== 'file') return;
  place.left = size + paddingOf(size);
  for await (const piece of tar.content()) {
    place.left -= piece.length;
    yield piece;
  }
  yield* zeros(place.left);
  place.left = 0;
}

function whyNot(
  { target }: TarItem,
  kind: Kind,
  name: Buffer,
  passed: Place | null,
): Parameters<VolumeReading['missed']>[1] | null {
  const parts = partsOf(name);
  if (!isNameKept(name, parts)) return 'name';
  if (parts.length - 2 > depthMax) return 'deep';
  // Below the volume, which is the second part.
  if (kind === 'link')
    return staysBelow(target.toString('latin1'), parts.length - 3) ? null : 'link';
  if (kind !== 'hardlink') return null;
  // Whether its file is in the artifact is only known of this reading.
  if (passed !== null && !isBehind(target, passed.name)) return 'changed';
  return isNameKept(target, partsOf(target)) ? null : 'name';
}

function isNameKept(name: Buffer, parts: readonly Buffer[]): boolean {
  return name.length <= pathBytesMax && parts.every(isKeepable);
}

/** Without a slash at its end. */
function nameOf({ name }: TarItem): Buffer {
  return name.at(-1) === slash ? name.subarray(0, -1) : name;
}

function partsOf(name: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at <= name.length;) {
    const end = name.indexOf(slash, at);
    parts.push(name.subarray(at, end === -1 ? name.length : end));
    if (end === -1) break;
    at = end + 1;
  }
  return parts;
}

/** Whether a walk that takes the names of each folder in their order comes to it later. */
function isBehind(name: Buffer, other: Buffer): boolean {
  const [ours, theirs] = [partsOf(name), partsOf(other)];
  for (const [at, part] of ours.entries()) {
    const there = theirs[at];
    if (there === undefined) return true;
    const order = Buffer.compare(part, there);
    if (order !== 0) return order > 0;
  }
  return false;
}

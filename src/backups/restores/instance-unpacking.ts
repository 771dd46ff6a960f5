/**
 * Owns unpacking the backup of an instance into an empty folder, which only this process can enter.
 *
 * 1. Whoever made the artifact writes nothing elsewhere: every name is made anew (O_EXCL), below a folder that was
 *    made here, and nothing is reached through a link. `..`, absolute names and all but files, folders and links
 *    are refused.
 * 2. Links are as they were, and only inside of what belongs to an app or a database: those make any link
 *    themselves, and nobody follows them there. Programs have links among themselves.
 * 3. Modes and times are as they were, and so are owners of what belongs to an app or a database: nothing of ours
 *    becomes theirs. No file runs as its owner by a bit.
 */
import { artifactFile } from '../../store/files/snapshot.ts';
import { corrupt } from '../streams/refusals.ts';
import { type ReadEntry, tarEntries } from '../tar/tar-entries.ts';
import { staysBelow } from '../tar/tar-tree.ts';
import { TreeOfTar, type TreeRules } from '../tar/tree-of-tar.ts';
import { type ArtifactKind, kindBytes, kindOf, kindOfTar, misfit } from './artifact-kind.ts';
import { unfit } from './failures.ts';
import { firstBytes } from './first-bytes.ts';

export interface Unpacked {
  files: number;
  bytes: number;
}

const isRoot = process.getuid?.() === 0;
const describedMaxBytes = 64 * 1024;
/** What belongs to an app or a database, as `places/app-folders.ts` and `places/database-folders.ts` say. */
const theirs = /^apps\/[^/]+\/(?:releases\/[^/]+|data[^/]*|home|tmp|run)(?=\/|$)/;
const programs = 'apps/programs/';
const ownUid = process.getuid?.() ?? 0;
const rules: TreeRules = { mayBeLink, ownerOf, modeOf, syncs: true };

/**
 * `bytes` is what was inside the compression. Rejects with ARTIFACT_UNFIT, ARTIFACT_CORRUPT, ARCHIVE_UNSAFE_ENTRY
 * and the errors of `bytes`: what was unpacked until then is of no use.
 */
export async function unpackInstance(
  bytes: AsyncIterable<Uint8Array>,
  into: string,
  seen: (unpacked: Unpacked) => void = () => undefined,
): Promise<Unpacked> {
  const { first, whole } = await firstBytes(bytes, kindBytes);
  const kind = kindOf(first);
  if (kind !== 'tar') throw unfitFor(kind);
  const tree = new TreeOfTar(into, rules);
  const unpacked: Unpacked = { files: 0, bytes: 0 };
  let isFirst = true;
  for await (const entry of tarEntries(whole)) {
    if (isFirst) await checkDescription(entry);
    else await tree.add(entry);
    isFirst = false;
    if (entry.type !== 'file') continue;
    unpacked.files += 1;
    unpacked.bytes += entry.size;
    seen(unpacked);
  }
  if (isFirst) throw unfitFor(null);
  await tree.finish();
  return unpacked;
}

function unfitFor(kind: ArtifactKind | null): Error {
  return kind === null ? unfit('The file is no backup of an instance.') : misfit(kind, 'instance');
}

/** The first entry tells what the tar is. */
async function checkDescription({ name, type, size, content }: ReadEntry): Promise<void> {
  const path = name.toString();
  if (path !== artifactFile || type !== 'file') throw unfitFor(kindOfTar(new Set([path])));
  if (size > describedMaxBytes) throw corrupt(`its ${artifactFile} is too long`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(Buffer.from(chunk));
  const { version } = parsed(Buffer.concat(chunks));
  if (version !== 1) throw unfit('The backup was made by a later version of Gangway.');
}

function parsed(bytes: Buffer): { version?: unknown } {
  try {
    return JSON.parse(bytes.toString()) as { version?: unknown };
  } catch (error) {
    throw corrupt(`its ${artifactFile} is no JSON`, error);
  }
}

/** The groups of ours let apps walk through. */
function ownerOf(path: string, { owner }: ReadEntry): { uid: number; gid: number } | null {
  if (!isRoot || !path.startsWith('apps/')) return null;
  return { uid: theirs.test(path) ? owner.uid : ownUid, gid: owner.gid };
}

function modeOf(path: string, { mode }: ReadEntry): number {
  return theirs.test(path) ? mode : mode & 0o755;
}

function mayBeLink(path: string, target: Buffer): boolean {
  if (target.length === 0) return false;
  const above = theirs.exec(path)?.[0];
  if (above !== undefined) return path.length > above.length;
  const depth = path.split('/').length - programs.split('/').length;
  return path.startsWith(programs) && staysBelow(target.toString('latin1'), depth);
}

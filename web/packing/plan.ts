/** Owns what of a folder will be sent: found before anything is packed, so that it can be shown. */
import { type FolderNode, isFolder, type TreeNode } from './tree.ts';
import { IgnoreRules } from './ignore-rules.ts';
import { Pauses } from './pauses.ts';

export interface PlannedFile {
  path: string;
  file: File;
}

export interface Plan {
  /** Of the folder; '' for loose files. */
  name: string;
  files: readonly PlannedFile[];
  bytes: number;
  /** What was left out, the first of it by name; folders end in a slash. */
  leftOut: { count: number; first: readonly string[] };
}

/** What the server takes. */
export const archiveBytesMax = 512 * 1024 * 1024;
/** As many as an archive may hold. */
export const filesMax = 200_000;
const leftOutShown = 12;
const atOnce = 64;

export class PackingError extends Error {}

interface PlanOptions {
  /** Told the number of files found so far. */
  onFound?: (files: number) => void;
  signal?: AbortSignal;
}

export async function planOf(folder: FolderNode, options: PlanOptions = {}): Promise<Plan> {
  const { onFound, signal } = options;
  const files: PlannedFile[] = [];
  const leftOut: string[] = [];
  let count = 0;
  let bytes = 0;
  const pauses = new Pauses();
  const walk = async (inside: FolderNode, at: string, above: IgnoreRules): Promise<void> => {
    signal?.throwIfAborted();
    const nodes = await inside.children().catch((cause: unknown) => unreadable(at, cause));
    const rules = await rulesIn(nodes, at, above);
    const wanted = nodes.filter((node) => {
      const path = `${at}${node.name}`;
      if (!rules.leavesOut(path, isFolder(node))) return true;
      count += 1;
      if (leftOut.length < leftOutShown) leftOut.push(isFolder(node) ? `${path}/` : path);
      return false;
    });
    const found = wanted.filter((node) => !isFolder(node));
    for (let from = 0; from < found.length; from += atOnce) {
      signal?.throwIfAborted();
      const nodesNow = found.slice(from, from + atOnce);
      const next = await Promise.all(nodesNow.map((node) => fileOf(node, at)));
      files.push(...next);
      if (files.length > filesMax) throw new PackingError(tooMany);
      for (const { file } of next) {
        // The browser asks the system for it, and waits meanwhile.
        bytes += file.size;
        await pauses.take();
      }
      onFound?.(files.length);
      await pauses.take();
    }
    await pauses.take();
    for (const node of wanted) if (isFolder(node)) await walk(node, `${at}${node.name}/`, rules);
  };
  await walk(folder, '', IgnoreRules.none);
  return { name: folder.name, files, bytes, leftOut: { count, first: leftOut } };
}

const tooMany = `There are more than ${filesMax.toLocaleString('en')} files in it, which is more than an archive may hold.`;

async function fileOf(node: TreeNode, at: string): Promise<PlannedFile> {
  const path = `${at}${node.name}`;
  if (isFolder(node)) throw new Error('A folder is no file.');
  return { path, file: await node.file().catch((cause: unknown) => unreadable(path, cause)) };
}

async function rulesIn(
  nodes: readonly TreeNode[],
  at: string,
  above: IgnoreRules,
): Promise<IgnoreRules> {
  const ignore = nodes.find(({ name }) => name === '.gitignore');
  if (ignore === undefined || isFolder(ignore)) return above;
  const path = `${at}.gitignore`;
  const file = await ignore.file().catch((cause: unknown) => unreadable(path, cause));
  return above.with(at, await file.text());
}

export function unreadable(path: string, cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new PackingError(`${path === '' ? 'The folder' : path} could not be read: ${why}`);
}

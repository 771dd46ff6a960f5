/**
 * Owns folders as a browser gives them: dropped on the page, or chosen by a button. Both are read the same
 * way, one folder at a time, so that what is left out is not even listed where the browser allows that.
 */

import { Pauses } from './pauses.ts';
import { type FolderNode, isFolder, type TreeNode } from './tree.ts';

/** What was given: one folder or a loose set of files is to be packed, one file may be an archive already. */
export type Given = { kind: 'folder'; folder: FolderNode } | { kind: 'file'; file: File };

/** Of a drop. What the items are has to be asked for at once, before the event is over. */
export async function givenByDrop({ items }: DataTransfer): Promise<Given | null> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const nodes = entries.map(nodeOfEntry);
  return await givenOf(nodes);
}

/** Of a button that chooses files, or with `webkitdirectory` a folder. */
export async function givenByInput(files: readonly File[]): Promise<Given | null> {
  const top = new Map<string, TreeNode>();
  const pauses = new Pauses();
  for (const file of files) {
    await pauses.take();
    const path = (file.webkitRelativePath || file.name).split('/').filter(Boolean);
    place(top, path, file);
  }
  return await givenOf([...top.values()]);
}

async function givenOf(nodes: readonly TreeNode[]): Promise<Given | null> {
  const [only] = nodes;
  if (only === undefined) return null;
  if (nodes.length > 1)
    return { kind: 'folder', folder: { name: '', children: () => Promise.resolve(nodes) } };
  if (isFolder(only)) return { kind: 'folder', folder: only };
  return { kind: 'file', file: await only.file() };
}

class MadeFolder implements FolderNode {
  readonly name: string;
  readonly inside = new Map<string, TreeNode>();

  constructor(name: string) {
    this.name = name;
  }

  children(): Promise<readonly TreeNode[]> {
    return Promise.resolve([...this.inside.values()]);
  }
}

function place(into: Map<string, TreeNode>, path: readonly string[], file: File): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  if (rest.length === 0) {
    into.set(name, { name, file: () => Promise.resolve(file) });
    return;
  }
  const known = into.get(name);
  const folder = known instanceof MadeFolder ? known : new MadeFolder(name);
  into.set(name, folder);
  place(folder.inside, rest, file);
}

function nodeOfEntry(entry: FileSystemEntry): TreeNode {
  const { name } = entry;
  if (entry.isDirectory) {
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    return { name, children: () => allOf(reader) };
  }
  return {
    name,
    file: () =>
      new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
  };
}

/** A reader gives some at a time, and none when it is at its end. */
async function allOf(reader: FileSystemDirectoryReader): Promise<readonly TreeNode[]> {
  const nodes: TreeNode[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return nodes;
    for (const entry of some) nodes.push(nodeOfEntry(entry));
  }
}

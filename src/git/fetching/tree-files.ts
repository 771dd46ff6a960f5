/**
 * Owns reading what a commit holds: its files one after the other, and the contents of small ones. Paths are bytes, one
 * a character (latin1): git has them in no encoding.
 */
import { gitFailed } from '../git-failure.ts';
import type { Repository } from '../repositories/repository.ts';

export interface TreeFile {
  /** `100644`, `100755`, `120000` a link, `160000` a commit of a submodule. */
  mode: string;
  sha: string;
  /** Nought for what is no file. */
  size: number;
  path: string;
}

const lineMax = 64 * 1024;
const line = /^(\d{6}) \w+ ([0-9a-f]{40}) +(\d+|-)\t(.+)$/s;

export function tooManyFiles(filesMax: number): Error {
  return gitFailed(`The commit has more than ${filesMax.toLocaleString('en')} files.`);
}

/** `tree`: a commit, or a folder of one. Throws GIT_FAILED. */
export async function* treeFiles(
  repository: Repository,
  tree: string,
  { walkedFiles }: { walkedFiles: number },
  env: Readonly<Record<string, string>> = {},
): AsyncGenerator<TreeFile> {
  let rest = '';
  let walked = 0;
  const args = ['ls-tree', '-r', '-z', '--long', tree];
  for await (const chunk of repository.stream(args, null, env)) {
    const parts = (rest + Buffer.from(chunk).toString('latin1')).split('\0');
    rest = parts.pop() ?? '';
    walked += parts.length;
    if (walked > walkedFiles) throw tooManyFiles(walkedFiles);
    for (const part of parts) yield fileOf(part);
    if (rest.length > lineMax) throw gitFailed('The commit has a name that is too long.');
  }
}

function fileOf(text: string): TreeFile {
  const [, mode = '', sha = '', size = '', path = ''] = line.exec(text) ?? [];
  if (path === '') throw gitFailed('The commit holds what is no file.');
  return { mode, sha, size: size === '-' ? 0 : Number(size), path };
}

/** The contents of files in their order; each is held in memory. Throws GIT_FAILED. */
export async function* contentsOf<T extends TreeFile>(
  repository: Repository,
  files: readonly T[],
): AsyncGenerator<[T, Buffer]> {
  if (files.length === 0) return;
  const asked = namesOf(files);
  let held: Buffer = Buffer.alloc(0);
  let at = 0;
  for await (const chunk of repository.stream(['cat-file', '--batch'], asked)) {
    held = Buffer.concat([held, chunk]);
    for (let file = files[at]; file !== undefined; file = files[at]) {
      // A line that tells the object, the object, and the end of a line.
      const start = held.indexOf('\n') + 1;
      const end = start + file.size;
      if (start === 0 || held.length <= end) break;
      yield [file, held.subarray(start, end)];
      held = held.subarray(end + 1);
      at += 1;
    }
  }
}

async function* namesOf(files: readonly TreeFile[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from(files.map(({ sha }) => `${sha}\n`).join(''));
  await Promise.resolve();
}

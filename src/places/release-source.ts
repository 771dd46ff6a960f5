/**
 * Owns reading a release's folder. Strangers wrote its content, and programs of the app may change it at
 * this moment: links are not followed, no pipe or device is opened, and no file is read beyond a limit.
 */
import type { Stats } from 'node:fs';
import { posix } from 'node:path';
import {
  Folder,
  ignoreChange,
  NotAFile,
  readWhole,
  within,
} from '../lib/untrusted-files/folder.ts';
import { ServiceError } from '../lib/errors.ts';
import type { ReleaseSource } from './place.ts';

const readMaxBytes = 1024 * 1024;

export class ReleaseFolder implements ReleaseSource {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async hasFile(...path: string[]): Promise<boolean> {
    return (await this.#look(path))?.isFile() === true;
  }

  async hasFolder(...path: string[]): Promise<boolean> {
    return (await this.#look(path))?.isDirectory() === true;
  }

  async text(...path: string[]): Promise<string | null> {
    const bytes = await this.#at(path, (folder, name) => readFile(folder, name, path.join('/')));
    return bytes?.toString() ?? null;
  }

  #look(path: string[]): Promise<Stats | undefined> {
    return this.#at(path, (folder, name) => folder.lstat(name).catch(ignoreChange));
  }

  /** Calls `work` with the folder that has the last name of the path, where there is one. */
  async #at<T>(
    path: string[],
    work: (folder: Folder, name: string) => Promise<T>,
  ): Promise<T | undefined> {
    const whole = posix.join('.', ...path).replace(/\/+$/, '');
    const names = whole.split('/');
    if (names.includes('..') || whole.includes('\0')) return undefined;
    const name = names.pop() ?? '.';
    const top = await Folder.open(this.folder).catch(ignoreChange);
    if (top === undefined) return undefined;
    return within(Promise.resolve(top), async () => {
      const folder = await top.below(names).catch(ignoreChange);
      return folder && within(Promise.resolve(folder), () => work(folder, name));
    });
  }
}

async function readFile(folder: Folder, name: string, shown: string): Promise<Buffer | null> {
  const file = await folder.file(name).catch((error: unknown) => notRead(error, shown));
  if (file === undefined) return null;
  try {
    return await readWhole(file, readMaxBytes);
  } finally {
    await file.close();
  }
}

/** A link or a folder counts as no file of this name. */
function notRead(error: unknown, shown: string): undefined {
  if (error instanceof NotAFile && error.kind !== 'link' && error.kind !== 'folder') {
    throw new ServiceError('NOT_DEPLOYABLE', `${shown} cannot be read: it is a ${error.kind}.`);
  }
  if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
    throw new ServiceError(
      'NOT_DEPLOYABLE',
      `${shown} cannot be read: a program of the app holds it.`,
    );
  }
  return ignoreChange(error);
}

/**
 * Owns backups in a folder of the machine.
 *
 * 1. Nothing outside of the destination's own folder is read or written: each name of the way to it is opened
 *    through the one above, and no link is followed.
 * 2. Only Gangway's own user can enter the folder and read what is in it.
 * 3. An object is written under another name, synced and then renamed.
 * 4. Some of the disk stays free: a write that would take it ends with STORAGE_FULL.
 */
import type { OpenFile } from '../../lib/untrusted-files/calls.ts';
import { ServiceError } from '../../lib/errors.ts';
import { Folder, within } from '../../lib/untrusted-files/folder.ts';
import { keptFree } from '../../lib/kept-free.ts';
import {
  type ByteRange,
  bytesOf,
  checkKey,
  type Destination,
  type ObjectWriter,
  type ServerPlace,
  type StoredObject,
} from './destination.ts';

/** The room is looked at again after so many bytes. */
const lookEvery = 2 ** 20;
const chunkBytes = 256 * 1024;
const unfinished = '.part';

/** An object that is open, and has to be closed. */
export interface OpenObject {
  bytes: number;
  /** Fills all of `into` with what is at this position. Rejects with DESTINATION_FAILED. */
  read: (into: Uint8Array, at: number) => Promise<void>;
  close: () => Promise<void>;
}

export class ServerDestination implements Destination {
  readonly #place: ServerPlace;

  constructor(place: ServerPlace) {
    this.#place = place;
  }

  async open(key: string, signal: AbortSignal): Promise<ObjectWriter> {
    checkKey(key);
    signal.throwIfAborted();
    const folder = await this.#folder();
    try {
      await mustHaveRoom(folder, 0);
      await unlinked(folder, key + unfinished);
      return new FileWriter({ folder, key, signal, file: await folder.create(key + unfinished) });
    } catch (error) {
      await folder.close();
      throw failure(error);
    }
  }

  async read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<StoredObject> {
    checkKey(key);
    signal?.throwIfAborted();
    const { bytes, close } = await this.openObject(key);
    await close();
    const wanted = bytesOf(bytes, range);
    return { bytes, stream: wanted === null ? none() : this.#bytes(key, wanted, signal) };
  }

  /** Rejects with ARTIFACT_GONE where there is no such object. */
  async openObject(key: string): Promise<OpenObject> {
    checkKey(key);
    return this.#within(async (folder) => {
      const file = await folder.file(key);
      try {
        const { size: bytes } = await file.stat();
        const read = (into: Uint8Array, at: number): Promise<void> => filled(file, into, at);
        return { bytes, read, close: () => file.close() };
      } catch (error) {
        await file.close();
        throw error;
      }
    });
  }

  async remove(key: string): Promise<void> {
    checkKey(key);
    await this.#within((folder) => unlinked(folder, key));
  }

  async sweep(isWriting: (key: string) => boolean, signal: AbortSignal): Promise<void> {
    await this.#within(async (folder) => {
      for await (const found of folder.names()) {
        signal.throwIfAborted();
        const name = found.toString();
        const isLeft = name.endsWith(unfinished) && !isWriting(name.slice(0, -unfinished.length));
        if (isLeft) await unlinked(folder, name);
      }
    });
  }

  async *#bytes(
    key: string,
    { start, end }: Required<ByteRange>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array> {
    const { read, close } = await this.openObject(key);
    try {
      for (let at = start; at <= end;) {
        signal?.throwIfAborted();
        const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, end + 1 - at));
        await read(chunk, at);
        // Whoever takes it may free it.
        at += chunk.length;
        yield chunk;
      }
    } finally {
      await close();
    }
  }

  async #within<T>(work: (folder: Folder) => Promise<T>): Promise<T> {
    try {
      return await within(this.#folder(), work);
    } catch (error) {
      throw failure(error);
    }
  }

  async #folder(): Promise<Folder> {
    const { path, isOurs } = this.#place;
    try {
      if (isOurs) await makeServerFolder(this.#place);
      return await opened(this.#place);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ELOOP') throw failure(error);
      throw failed(`There is no folder ${path.join('/')}: is its disk mounted?`, error);
    }
  }
}

function opened({ root, path }: Pick<ServerPlace, 'root' | 'path'>): Promise<Folder> {
  return within(Folder.open(root), (folder) => folder.below(path));
}

/** Makes the folder of a destination, and those above it below the root. Twice is fine. */
export async function makeServerFolder({ root, path }: ServerPlace): Promise<void> {
  let at = await Folder.open(root);
  for (const name of path) {
    const inner = made(at, name);
    await inner.catch(() => undefined);
    await at.close();
    at = await inner;
  }
  await at.close();
}

/** Removes the folder of a destination; rejects with ENOTEMPTY where something is in it. */
export async function removeServerFolder({ root, path }: ServerPlace): Promise<void> {
  const [name = '', ...above] = path.toReversed();
  await within(opened({ root, path: above.toReversed() }), (folder) => folder.rmdir(name));
}

async function made(folder: Folder, name: string): Promise<Folder> {
  try {
    await folder.mkdir(name);
    await synced(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return await folder.folder(name);
}

interface WriterParts {
  folder: Folder;
  key: string;
  file: OpenFile;
  signal: AbortSignal;
}

class FileWriter implements ObjectWriter {
  readonly #parts: WriterParts;
  /** Bytes since the room was looked at. */
  #unlooked = 0;
  #isOpen = true;
  #name: string;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#name = parts.key + unfinished;
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { folder, file, signal } = this.#parts;
    signal.throwIfAborted();
    try {
      this.#unlooked += chunk.length;
      if (this.#unlooked >= lookEvery) {
        await mustHaveRoom(folder, chunk.length);
        this.#unlooked = 0;
      }
      await file.writeFile(chunk);
    } catch (error) {
      throw failure(error);
    }
  }

  async finish(): Promise<void> {
    const { folder, file, key, signal } = this.#parts;
    try {
      signal.throwIfAborted();
      await file.sync();
      await folder.move(this.#name, folder, key);
      this.#name = key;
      await synced(folder);
    } catch (error) {
      await this.abort();
      throw failure(error);
    }
    await this.#close();
  }

  async abort(): Promise<void> {
    if (!this.#isOpen) return;
    try {
      await unlinked(this.#parts.folder, this.#name);
    } catch (error) {
      throw failure(error);
    } finally {
      await this.#close();
    }
  }

  async #close(): Promise<void> {
    this.#isOpen = false;
    await this.#parts.file.close();
    await this.#parts.folder.close();
  }
}

async function filled(file: OpenFile, into: Uint8Array, at: number): Promise<void> {
  try {
    for (let done = 0; done < into.length;) {
      const { bytesRead } = await file.read(into, done, into.length - done, at + done);
      if (bytesRead === 0) throw failed('The backup is shorter than it was.');
      done += bytesRead;
    }
  } catch (error) {
    throw failure(error);
  }
}

async function mustHaveRoom(folder: Folder, wanted: number): Promise<void> {
  const { total, free } = await folder.space();
  const kept = keptFree(total);
  if (free - wanted >= kept) return;
  const mebibytes = (bytes: number): string => `${String(Math.floor(bytes / 2 ** 20))} MiB`;
  throw new ServiceError(
    'STORAGE_FULL',
    `The disk of the destination is full: ${mebibytes(free)} are free, of which ${mebibytes(kept)} stay free.`,
  );
}

async function unlinked(folder: Folder, name: string): Promise<void> {
  try {
    await folder.unlink(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Some file systems of a network cannot sync a folder. */
async function synced(folder: Folder): Promise<void> {
  await folder.self.sync().catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
  });
}

async function* none(): AsyncGenerator<Uint8Array> {
  // Nothing is in the range.
}

function failed(detail: string, cause?: unknown): ServiceError {
  return new ServiceError('DESTINATION_FAILED', detail, { cause });
}

/** What went wrong with a file, as it may be told; what is told already stays as it is. */
function failure(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  const { code, name } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') {
    return new ServiceError('ARTIFACT_GONE', 'The backup is not there any more.', { cause: error });
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const detail = 'The disk of the destination is full.';
    return new ServiceError('STORAGE_FULL', detail, { cause: error });
  }
  if (name === 'NotAFile') return failed('What has the name of the backup is no file.', error);
  // Reasons of signals have a code that is a number.
  return typeof code === 'string' ? failed(`The folder cannot be used (${code}).`, error) : error;
}

/**
 * Owns the unpacking of a stored archive into a folder.
 *
 * 1. All checks of the upload are made again, on the bytes that are on disk now.
 * 2. Until everything is written the files lie in `<into>.partial`, which only this process can enter. Then
 *    that folder takes the place of `into`. A repeated call after a crash begins again.
 * 3. After a failure, neither `into` nor `.partial` is left.
 */
import { chmod, chown, mkdir, open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../../lib/untrusted-files/remove.ts';
import { fileSource } from '../formats/byte-reader.ts';
import { type Inspected, inspectArchive } from '../formats/inspect.ts';
import type { ExtractTask } from '../bulk-messages.ts';
import { TreeWriter } from './tree-writer.ts';

const readBytes = 256 * 1024;

export class Canceled extends Error {}

export async function extractArchive(
  task: ExtractTask,
): Promise<{ entries: number; bytes: number }> {
  const flag = new Int32Array(task.canceled);
  const check = (): void => {
    if (Atomics.load(flag, 0) !== 0) throw new Canceled('Cannot go on: the extraction is canceled');
  };
  const partial = `${task.into}.partial`;
  const mode = await modeOf(task.into);
  await removeTree(partial);
  await removeTree(task.into);
  try {
    await mkdir(partial, { mode: 0o700 });
    const writer = new TreeWriter(partial, task.uid, check);
    const { entries, soleFolder } = await readInto(task, writer);
    const lifted = task.keepsSoleFolder ? null : soleFolder;
    await place(task, lifted === null ? partial : join(partial, lifted), mode);
    await removeTree(partial);
    return { entries, bytes: writer.bytes };
  } catch (error) {
    await removeTree(partial);
    await removeTree(task.into);
    throw error;
  }
}

async function readInto(task: ExtractTask, writer: TreeWriter): Promise<Inspected> {
  const file = await open(task.archive, 'r');
  try {
    const { size } = await file.stat();
    const inspected = await inspectArchive({
      format: task.format,
      limits: task.limits,
      source: fileSource(file, readBytes),
      file: {
        read: async (offset, length) => {
          const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
          return buffer.subarray(0, bytesRead);
        },
      },
      visitor: writer,
      totalBytes: size,
    });
    writer.finish();
    return inspected;
  } finally {
    writer.close();
    await file.close();
  }
}

/** Gives the finished folder its mode and owner, then its name. */
async function place(task: ExtractTask, folder: string, mode: number | null): Promise<void> {
  if (task.uid !== null) await chown(folder, task.uid, task.uid);
  await chmod(folder, mode ?? (task.uid === null ? 0o755 : 0o700));
  await rename(folder, task.into);
}

async function modeOf(folder: string): Promise<number | null> {
  try {
    return (await stat(folder)).mode & 0o777;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

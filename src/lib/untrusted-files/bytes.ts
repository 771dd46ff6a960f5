/**
 * Owns copying the bytes of one open file to another, while somebody may write to it or cut it.
 *
 * 1. No more is copied than the file had at the beginning, and a file that is cut ends the copy. Node's own
 *    `copyFile` promises neither.
 * 2. Holes stay holes, so that a copy takes no more space than its source.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { asOthers } from '../processes/go-first.ts';
import type { OpenFile } from './calls.ts';

const chunkBytes = 1024 * 1024;
/** Reading holes of more than this takes longer than a program that sees where they are. */
export const holesMaxBytes = 64 * 1024 * 1024;
const zeros = Buffer.alloc(chunkBytes);

export async function copyBytes(source: OpenFile, target: OpenFile): Promise<void> {
  const { size, blocks } = await source.stat();
  if (process.platform === 'linux') {
    if (blocks * 512 < size - holesMaxBytes) return copyByProgram(source, target);
    if (size >= chunkBytes && (await isCloned(source, target))) return;
  }
  const buffer = Buffer.allocUnsafe(Math.min(size, chunkBytes));
  let at = 0;
  while (at < size) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - at), at);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    if (!chunk.equals(zeros.subarray(0, bytesRead))) await writeAll(target, chunk, at);
    at += bytesRead;
  }
  await target.truncate(at);
}

async function writeAll(target: OpenFile, chunk: Buffer, at: number): Promise<void> {
  for (let done = 0; done < chunk.length;) {
    const { bytesWritten } = await target.write(chunk, done, chunk.length - done, at + done);
    done += bytesWritten;
  }
}

/** Whether the file system could let the copy share the blocks of its source. */
function isCloned(source: OpenFile, target: OpenFile): Promise<boolean> {
  return copyFile(inFd(source.fd), inFd(target.fd), constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  );
}

/** The program is given both files open: it has no path that somebody could change. */
async function copyByProgram(source: OpenFile, target: OpenFile): Promise<void> {
  const child = asOthers(() =>
    spawn('cp', ['--sparse=auto', '--reflink=auto', '--', inFd(3), inFd(4)], {
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe', source.fd, target.fd],
    }),
  );
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code !== 0) throw new Error(`cp ended with ${String(code)}: ${said.trim()}`);
}

function inFd(fd: number): string {
  return `/proc/self/fd/${String(fd)}`;
}

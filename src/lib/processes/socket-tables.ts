/**
 * Owns reading the kernel's tables of TCP sockets: those that listen stand there first. Nothing behind what is
 * asked for is read.
 *
 * 1. A table is read on a thread of the pool: the kernel walks through all that has room in it, which takes some
 *    milliseconds, in a network of its own, too.
 * 2. So much is read at all: some 200,000 sockets.
 */
import fs from 'node:fs';
import { open } from 'node:fs/promises';

/** The kernel gives no more at a time. */
const pageBytes = 4096;
const pagesMax = 8192;

/** Of a file such as `/proc/net/tcp`: texts of whole lines. */
export async function* tablePages(path: string): AsyncGenerator<string, void> {
  const file = await open(path).catch(() => undefined);
  // No IPv6 there, or the process has ended.
  if (file === undefined) return;
  try {
    const lines = new WholeLines();
    for (let pages = 0; pages < pagesMax; pages++) {
      // None is read of a process that has ended.
      const bytes = await file.read(lines.page, 0, pageBytes, null).then(
        ({ bytesRead }) => bytesRead,
        () => 0,
      );
      if (bytes === 0) return;
      yield lines.take(bytes);
    }
  } finally {
    await file.close();
  }
}

/** All of it in one turn of the loop: who looks bounds it. */
export function* pagesNow(path: string): Generator<string, void> {
  let fd: number;
  try {
    fd = fs.openSync(path, 'r');
  } catch {
    return; // No IPv6 there, or the process has ended.
  }
  try {
    const lines = new WholeLines();
    for (;;) {
      const bytes = readPage(fd, lines.page);
      if (bytes === 0) return;
      yield lines.take(bytes);
    }
  } finally {
    fs.closeSync(fd);
  }
}

function readPage(fd: number, page: Buffer): number {
  try {
    return fs.readSync(fd, page, 0, page.length, null);
  } catch {
    return 0; // The process has ended.
  }
}

class WholeLines {
  readonly page = Buffer.allocUnsafe(pageBytes);
  #rest = '';

  /** The lines that end in what was read into `page`. */
  take(bytes: number): string {
    const text = this.#rest + this.page.toString('latin1', 0, bytes);
    const end = text.lastIndexOf('\n') + 1;
    this.#rest = text.slice(end);
    return text.slice(0, end);
  }
}

/**
 * Owns reading the kernel's tables of TCP sockets: those that listen stand there first.
 *
 * 1. So much is read in one turn of the loop, some 400 sockets; and so much at all, some 200,000.
 */
import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';

/** The kernel gives no more at a time. */
const pageBytes = 4096;
/** Pages of a table in one turn, and at all. */
const [turnPages, allPages] = [16, 8192];

/** Of a file such as `/proc/net/tcp`: texts of whole lines. Nothing behind what is asked for is read. */
export async function* tablePages(file: string): AsyncGenerator<string, void> {
  let pages = 0;
  for (const text of pagesNow(file)) {
    yield text;
    if (++pages === allPages) return;
    if (pages % turnPages === 0) await setImmediate();
  }
}

/** All of it in one turn: who looks bounds it. */
export function* pagesNow(file: string): Generator<string, void> {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch {
    return; // No IPv6 there, or the process has ended.
  }
  try {
    const page = Buffer.allocUnsafe(pageBytes);
    for (let rest = ''; ;) {
      const bytes = readPage(fd, page);
      if (bytes === 0) return;
      const text = rest + page.toString('latin1', 0, bytes);
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      yield text.slice(0, end);
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

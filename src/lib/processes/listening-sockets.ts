/**
 * Owns reading from /proc which TCP sockets listen, and where.
 *
 * 1. The kernel's table names those that listen first. Nothing behind them is read, so connections cost
 *    nothing, however many the machine has.
 * 2. So much is read in one turn of the loop: some 400 sockets; and so much at all, some 200,000. What stands
 *    behind is not seen.
 */
import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';

/** A TCP socket that listens. */
export interface Listener {
  /** As people write it: `127.0.0.1`, `0.0.0.0`, `::`, … */
  address: string;
  port: number;
}

export interface ListeningSocket extends Listener {
  inode: string;
  /** Of who made it. */
  uid: number;
}

const listenState = '0A';
/** In the line that names the columns. */
const headState = 'st';
const mapped = /^0{16}FFFF0000([0-9A-F]{8})$/;

const pageBytes = 4096;
/** Pages of a table in one turn, and at all. */
const [turnPages, tablePages] = [16, 8192];

/** `dir`: `/proc/net`, or that of a process in a network of its own. */
export async function listeningSockets(dir: string): Promise<ListeningSocket[]> {
  const sockets: ListeningSocket[] = [];
  for (const name of ['tcp', 'tcp6']) await readTable(`${dir}/${name}`, sockets);
  // The kernel writes the table piece by piece: one that moves meanwhile stands there twice.
  return [...new Map(sockets.map((socket) => [socket.inode, socket])).values()];
}

async function readTable(file: string, sockets: ListeningSocket[]): Promise<void> {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch {
    return; // No IPv6 there, or the process has ended.
  }
  try {
    // The kernel gives no more at a time.
    const page = Buffer.allocUnsafe(pageBytes);
    let rest = '';
    for (let pages = 1; pages <= tablePages; pages++) {
      const bytes = readPage(fd, page);
      const lines = (rest + page.toString('latin1', 0, bytes)).split('\n');
      rest = lines.pop() ?? '';
      if (!addListening(lines, sockets) || bytes === 0) return;
      if (pages % turnPages === 0) await setImmediate();
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

/** False at the first line that is of no listener. */
function addListening(lines: readonly string[], sockets: ListeningSocket[]): boolean {
  for (const line of lines) {
    const [, local = '', , state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (inode === undefined || state === headState) continue;
    if (state !== listenState) return false;
    const [hex = '', port = ''] = local.split(':');
    sockets.push({ address: addressOf(hex), port: parseInt(port, 16), inode, uid: Number(uid) });
  }
  return true;
}

/** The kernel writes words of 32 bits in the order of the machine, which is little-endian here. */
function addressOf(hex: string): string {
  const v4 = hex.length === 8 ? hex : mapped.exec(hex)?.[1];
  if (v4 !== undefined) return bytesOf(v4).join('.');
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap(bytesOf);
  const groups = bytes.flatMap((byte, at) =>
    at % 2 === 0 ? [((byte << 8) | (bytes[at + 1] ?? 0)).toString(16)] : [],
  );
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

function bytesOf(word: string): number[] {
  return (word.match(/../g) ?? []).map((byte) => parseInt(byte, 16)).reverse();
}

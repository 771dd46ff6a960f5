/**
 * Owns reading from /proc which TCP sockets listen, and where.
 *
 * 1. The kernel's table names those that listen first. Nothing behind them is read, so connections cost
 *    nothing, however many the machine has.
 * 2. A table that holds no socket is not read.
 * 3. What stands behind the bound of a table is not seen.
 */
import { readFile } from 'node:fs/promises';

import { tablePages } from './socket-tables.ts';

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

/** Each table with what counts its sockets, those of `dir` alone. */
const tables = [
  { table: 'tcp', counts: 'sockstat', none: /^TCP: inuse 0 /m },
  { table: 'tcp6', counts: 'sockstat6', none: /^TCP6: inuse 0$/m },
] as const;

/** `dir`: `/proc/net`, or that of a process in a network of its own. */
export async function listeningSockets(dir: string): Promise<ListeningSocket[]> {
  const sockets: ListeningSocket[] = [];
  for (const { table, counts, none } of tables) {
    const counted = await readFile(`${dir}/${counts}`, 'latin1').catch(() => '');
    if (none.test(counted)) continue;
    for await (const text of tablePages(`${dir}/${table}`)) {
      if (!addListening(text.split('\n'), sockets)) break;
    }
  }
  // The kernel writes the table piece by piece: one that moves meanwhile stands there twice.
  return [...new Map(sockets.map((socket) => [socket.inode, socket])).values()];
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

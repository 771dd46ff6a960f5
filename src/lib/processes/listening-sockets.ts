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

/** Address and port, state, uid, inode. Who has thousands of sockets listen costs others little. */
const socket =
  /: ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) \S+ \S+ \S+ +(\d+) +\d+ (\d+) /g;
const listenState = '0A';
const mapped = /^0{16}FFFF0000([0-9A-F]{8})$/;

/** Each table with what counts its sockets, those of `dir` alone. */
const tables = [
  { table: 'tcp', counts: 'sockstat', none: /^TCP: inuse 0 /m },
  { table: 'tcp6', counts: 'sockstat6', none: /^TCP6: inuse 0$/m },
] as const;

/** `dir`: `/proc/net`, or that of a process in a network of its own. `only`: at these ports; absent: at all. */
export async function listeningSockets(
  dir: string,
  only?: ReadonlySet<number>,
): Promise<ListeningSocket[]> {
  const sockets: ListeningSocket[] = [];
  const ports = only && new Set([...only].map(hexPort));
  for (const { table, counts, none } of tables) {
    const counted = await readFile(`${dir}/${counts}`, 'latin1').catch(() => '');
    if (none.test(counted)) continue;
    for await (const text of tablePages(`${dir}/${table}`)) {
      if (!addListening(text, ports, sockets)) break;
    }
  }
  // The kernel writes the table piece by piece: one that moves meanwhile stands there twice.
  return [...new Map(sockets.map((one) => [one.inode, one])).values()];
}

/** False at the first that is of no listener. */
function addListening(
  text: string,
  only: ReadonlySet<string> | undefined,
  sockets: ListeningSocket[],
): boolean {
  for (const [, hex = '', port = '', state, uid, inode = ''] of text.matchAll(socket)) {
    if (state !== listenState) return false;
    if (only?.has(port) === false) continue;
    sockets.push({ address: addressOf(hex), port: parseInt(port, 16), inode, uid: Number(uid) });
  }
  return true;
}

function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
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

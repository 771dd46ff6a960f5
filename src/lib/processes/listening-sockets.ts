/** Owns reading from /proc which TCP sockets listen, and where. */
import fs from 'node:fs';

/** A TCP socket that listens. */
export interface Listener {
  /** As people write it: `127.0.0.1`, `0.0.0.0`, `::`, … */
  address: string;
  port: number;
}

export interface ListeningSocket extends Listener {
  inode: string;
}

const listenState = '0A';
const mapped = /^0{16}FFFF0000([0-9A-F]{8})$/;

/** `dir`: `/proc/net`, or that of a process in a network of its own. */
export function listeningSockets(dir: string): ListeningSocket[] {
  const sockets = ['tcp', 'tcp6'].flatMap((name) => {
    let table: string;
    try {
      table = fs.readFileSync(`${dir}/${name}`, 'latin1');
    } catch {
      return []; // No IPv6 there, or the process has ended.
    }
    return table.split('\n').slice(1).flatMap(socketOf);
  });
  // The kernel writes the table piece by piece: one that moves meanwhile stands there twice.
  return [...new Map(sockets.map((socket) => [socket.inode, socket])).values()];
}

function socketOf(line: string): ListeningSocket[] {
  const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
  if (state !== listenState || inode === undefined) return [];
  const [hex = '', port = ''] = local.split(':');
  return [{ address: addressOf(hex), port: parseInt(port, 16), inode }];
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

/**
 * Owns the address of a Unix socket in a folder, however deep that folder lies: a path beyond what
 * the kernel takes is named through an open descriptor of the folder.
 */
import fs from 'node:fs';
import path from 'node:path';

/** `sun_path` holds 108 bytes with its closing zero. */
const socketPathMaxBytes = 107;

export interface SocketAddress {
  /** Good until `release` is called. */
  path: string;
  release(): void;
}

export function socketAddress(dir: string, name: string): SocketAddress {
  const whole = path.join(dir, name);
  if (Buffer.byteLength(whole) <= socketPathMaxBytes) {
    return { path: whole, release: () => undefined };
  }
  const fd = fs.openSync(dir, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  return {
    path: `/proc/self/fd/${String(fd)}/${name}`,
    release: () => fs.closeSync(fd),
  };
}

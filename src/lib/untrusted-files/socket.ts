/**
 * Owns connecting to a Unix socket in a folder of somebody else's, who may swap it at any moment: what has the
 * name is held without opening it (O_PATH), looked at, and that very socket is connected to.
 */
import fs, { constants } from 'node:fs';
import type net from 'node:net';
import { setTimeout } from 'node:timers/promises';

import { connectWithin } from '../connect.ts';

/** Node does not name it; it is the same on all processors that Node runs on. */
const O_PATH = 0o10000000;
/** Its queue of those who wait to be accepted is full. Over TCP the kernel itself tries again. */
const full = 'EAGAIN';
const againMs = 20;

export interface OwnSocket {
  /** But for its last name it lies in folders that its owner cannot swap. */
  readonly path: string;
  /** Whose socket it has to be. */
  readonly uid: number;
}

/** Rejects with what the system says, ETIMEDOUT, or ENOTOWN for what is no socket of the owner's. */
export async function connectToOwn(own: OwnSocket, withinMs: number): Promise<net.Socket> {
  for (let leftMs = withinMs; ; leftMs -= againMs) {
    try {
      return await connectOnce(own, withinMs);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== full || leftMs <= 0) throw error;
    }
    await setTimeout(againMs);
  }
}

async function connectOnce({ path, uid }: OwnSocket, withinMs: number): Promise<net.Socket> {
  const fd = fs.openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    const found = fs.fstatSync(fd);
    if (!found.isSocket() || found.uid !== uid) {
      throw Object.assign(new Error('Cannot connect: it is no socket of its owner'), {
        code: 'ENOTOWN',
      });
    }
    const held = `/proc/self/fd/${String(fd)}`;
    return await connectWithin({ path: held, allowHalfOpen: true }, withinMs);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Owns the lock of a data directory, which one runner at a time holds.
 *
 * 1. It lies in a folder that is closed to apps, so only a process of our own user takes it.
 * 2. It is held as long as its holder lives: a crash, or a restart of the machine, leaves nothing to be
 *    taken away.
 *
 * Each holder has a file of the next number, which names its process; the highest counts. A file appears
 * whole or not at all, and once: of two that saw the same dead holder, one is the next.
 */
import fs from 'node:fs';
import path from 'node:path';

import { lives, readProcess } from '../../lib/processes/processes.ts';
import { createFileWhole } from '../../lib/whole-file.ts';

interface Holder {
  pid: number;
  startTicks: number;
  /** Which start of the machine it was. */
  boot: string;
  /** Of whose folder: a copied folder holds no lock. */
  instance: string;
}

/** False when another one holds it. `dir` is our own. */
export function takeLock(dir: string, instance: string): boolean {
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  const startTicks = readProcess(process.pid)?.startTicks ?? 0;
  const own: Holder = { pid: process.pid, startTicks, boot: bootId(), instance };
  for (;;) {
    const last = highest(dir);
    if (last > 0 && isHeld(path.join(dir, String(last)), own)) return false;
    const next = last + 1;
    if (!createFileWhole(path.join(dir, String(next)), JSON.stringify(own))) continue;
    if (highest(dir) === next) {
      for (const number of numbersIn(dir)) if (number < next) remove(dir, number);
      return true;
    }
    // Others went on while we looked.
    remove(dir, next);
  }
}

function numbersIn(dir: string): number[] {
  return fs.readdirSync(dir).map(Number).filter(Number.isInteger);
}

function highest(dir: string): number {
  return Math.max(0, ...numbersIn(dir));
}

function remove(dir: string, number: number): void {
  fs.rmSync(path.join(dir, String(number)), { force: true });
}

function isHeld(file: string, own: Holder): boolean {
  let holder: Holder;
  try {
    holder = JSON.parse(fs.readFileSync(file, 'utf8')) as Holder;
  } catch {
    return false; // A loss of power left half of it; whoever removed it has a higher one.
  }
  return holder.boot === own.boot && holder.instance === own.instance && lives(holder);
}

function bootId(): string {
  return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

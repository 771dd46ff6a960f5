/**
 * Owns the native calls for PTYs: what Node itself has no way to ask of the system.
 *
 * The native part of node-pty is used without what the library puts round it: that drops output that is
 * not read within 200 ms of the program's end, keeps the loop busy while a program does not read, and
 * leaves a program under another uid the groups of root.
 */
import { requireBinary } from '@lydell/node-pty/requireBinary.js';

export interface OpenedPty {
  /** Descriptors that do not block, and that children would inherit. */
  master: number;
  slave: number;
  /** Path of the slave. */
  pty: string;
}

export interface PtyBinding {
  open(cols: number, rows: number): OpenedPty;
  resize(master: number, cols: number, rows: number): void;
}

/** Throws where the package has nothing for this machine. */
export function loadPtyBinding(): PtyBinding {
  return requireBinary('pty.node') as PtyBinding;
}

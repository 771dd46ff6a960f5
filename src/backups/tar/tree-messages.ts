/** Owns the messages to a thread that reads a tree (`workers/tasks/trees.ts`). All are plain data. */
import type { MessagePort } from 'node:worker_threads';

export interface ReadTree {
  /** A path that nobody else can change. */
  root: string;
  /** The tree, by its name in `root`. */
  name: string;
  /** Of the names in the tar; ends in a slash. */
  prefix: string;
  /** What stays out; paths begin below the tree. Null: nothing. */
  leaves: RegExp | null;
}

export interface SendTree extends ReadTree {
  /** See `workers/sending`. */
  port: MessagePort;
  chunkBytes: number;
  /** Its first number grows by what cannot be kept. */
  missed: Int32Array<SharedArrayBuffer>;
}

/**
 * Owns how much of LMDB's file format we read by ourselves: meta pages, and which pages a tree names. Numbers
 * are in the byte order of the machine; those that Node runs on are little-endian. The layout is that of
 * `mdb.c` in lmdb-js, version 2 of the data format: `MDB_page_header`, `MDB_meta`, `MDB_node`, `MDB_db`.
 */

export interface Meta {
  pageBytes: number;
  /** Grows with each commit. */
  transaction: bigint;
  /** Number of the last page in use. */
  lastPage: number;
  /** First pages of the tree of free pages, and of the tree of databases. */
  roots: readonly bigint[];
}

const headBytes = 24;
const flagsAt = 18;
const lowerAt = 20;
const flag = { branch: 0x01, leaf: 0x02, meta: 0x08, keysOnly: 0x20 } as const;
const magic = 0xbeefc0de;
const dataVersion = 2;
/** Where `md_root` stands in the description of a tree, which takes 48 bytes. */
const rootAt = 40;
const databasesAt = headBytes + 24;
const metaEnd = headBytes + 144;
const noRoot = 2n ** 64n - 1n;

/** A meta page from its beginning; undefined for anything else. */
export function metaOf(page: Buffer): Meta | undefined {
  if (page.length < metaEnd || (page.readUInt16LE(flagsAt) & flag.meta) === 0) return undefined;
  const version = page.readUInt32LE(headBytes + 4) & 0xffff;
  const pageBytes = page.readUInt32LE(databasesAt);
  const isKnown = page.readUInt32LE(headBytes) === magic && version === dataVersion;
  if (!isKnown || pageBytes < 512 || pageBytes > 65_536) return undefined;
  return {
    pageBytes,
    lastPage: Number(page.readBigUInt64LE(databasesAt + 96)),
    transaction: page.readBigUInt64LE(databasesAt + 104),
    roots: [databasesAt, databasesAt + 48].map((at) => page.readBigUInt64LE(at + rootAt)),
  };
}

export interface Tree {
  root: bigint;
  /** Whole pages that the file has. */
  pages: number;
  read: (page: number) => Buffer;
}

/** Whether the file has all pages that a tree, and trees within it, name. False for what is no tree. */
export function holdsTree({ root, pages, read }: Tree): boolean {
  const open = [root];
  let visited = 0;
  for (let page = open.pop(); page !== undefined; page = open.pop()) {
    if (page === noRoot) continue;
    // A tree that names a page twice would not end.
    if (page >= BigInt(pages) || (visited += 1) > pages) return false;
    try {
      const named = namedBy(read(Number(page)));
      if (named === undefined || named.lastValuePage >= BigInt(pages)) return false;
      open.push(...named.pages);
    } catch (error) {
      // A place outside the page.
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
  return true;
}

interface Named {
  /** Pages of the tree below this one, and roots of trees within it. */
  pages: bigint[];
  /** The last of those that hold long values. */
  lastValuePage: bigint;
}

/** What a page of a tree names; undefined when it is none. */
function namedBy(page: Buffer): Named | undefined {
  const flags = page.readUInt16LE(flagsAt);
  const named: Named = { pages: [], lastValuePage: -1n };
  if ((flags & (flag.branch | flag.leaf)) === 0) return undefined;
  if ((flags & flag.keysOnly) !== 0) return named;
  const nodesEnd = headBytes + page.readUInt16LE(lowerAt);
  for (let at = headBytes; at < nodesEnd; at += 2) {
    const node = headBytes + page.readUInt16LE(at);
    if ((flags & flag.branch) !== 0) named.pages.push(childOf(page, node));
    else addLeaf(named, page, node);
  }
  return named;
}

function childOf(page: Buffer, node: number): bigint {
  return page.readBigUInt64LE(node) & 0xffff_ffff_ffffn;
}

const nodeFlag = { longValue: 0x01, tree: 0x02 } as const;

function addLeaf(named: Named, page: Buffer, node: number): void {
  const flags = page.readUInt16LE(node + 4);
  const value = node + 8 + page.readUInt16LE(node + 6);
  if ((flags & nodeFlag.tree) !== 0) named.pages.push(page.readBigUInt64LE(value + rootAt));
  if ((flags & nodeFlag.longValue) === 0) return;
  const last = page.readBigUInt64LE(value) + page.readBigUInt64LE(value + 16) - 1n;
  if (last > named.lastValuePage) named.lastValuePage = last;
}

/**
 * Owns what a disk would hold after the power failed: a program runs under strace, and its writes are
 * repeated into another folder as far as they were synced. What kill -9 cannot show, because the kernel
 * keeps what it was given, is lost here.
 *
 * 1. A write counts from the fsync or fdatasync of its file that began after it and came back, or at
 *    once where the file was opened to be synced at each write.
 * 2. A new name of a file counts once its folder was synced. A new file has its name as soon as it is
 *    synced itself, as on ext4 and xfs.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const calls = [
  ...['openat', 'write', 'pwrite64', 'writev', 'pwritev', 'lseek', 'ftruncate'],
  ...['fsync', 'fdatasync', 'rename', 'renameat', 'renameat2', 'link', 'linkat'],
];

/** What runs a program so that it is traced into `file`; the program has the pid that is seen. */
export function tracedBy(file: string): string[] {
  const flags = ['-D', '-f', '--seccomp-bpf', '-qq', '-y', '-xx', '-s', '4000000'];
  // Not what it starts: that outlives it, and would keep its outputs open.
  flags.push('-b', 'execve');
  return ['strace', ...flags, '-e', `trace=${calls.join(',')}`, '-e', 'signal=none', '-o', file];
}

type Change = { at: number; bytes: Buffer } | { length: number };

interface TracedFile {
  /** Length as the kernel has it, for what appends. */
  length: number;
  unsynced: Change[];
  disk: Buffer;
  synced: boolean;
}

interface Call {
  name: string;
  /** What was said when it began. */
  args: string;
  result: string;
}

/** Writes what is left of `dir` into the folder `into`. The program must have ended, or be at rest. */
export function afterPowerCut(trace: string, dir: string, into: string): void {
  const disk = new TracedDisk(dir);
  for (const call of callsIn(readFileSync(trace, 'latin1'))) disk.take(call);
  for (const [path, bytes] of disk.left()) {
    const copy = join(into, relative(dir, path));
    mkdirSync(dirname(copy), { recursive: true });
    writeFileSync(copy, bytes);
  }
}

/** Of what is under way, the call is there twice: as it begins (`result` is '?') and as it ends. */
function* callsIn(text: string): Generator<Call> {
  const underWay = new Map<string, Call>();
  for (const line of text.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>.*= (.*)$/.exec(rest);
    const begun = underWay.get(thread);
    if (resumed && begun) {
      underWay.delete(thread);
      yield { ...begun, result: resumed[1] ?? '' };
      continue;
    }
    const [, name = '', args = '', result] =
      /^(\w+)\((.*?)(?:\) += (.*)| <unfinished \.\.\.>)$/.exec(rest) ?? [];
    if (name === '') continue;
    const call = { name, args, result: result ?? '?' };
    yield { ...call, result: '?' };
    if (result === undefined) underWay.set(thread, call);
    else yield call;
  }
}

class TracedDisk {
  readonly #dir: string;
  readonly #files = new Map<string, TracedFile>();
  /** Of an open file, by its number: whether each write is synced, and where the next one goes. */
  readonly #open = new Map<string, { dsync: boolean; at: number | 'end' }>();
  /** By folder: new names that are not synced, and what they were before. */
  readonly #names = new Map<string, { from: string | null; to: string }[]>();
  /** How much each sync that is under way covers. */
  readonly #syncs = new Map<string, number>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  take({ name, args, result }: Call): void {
    const ended = result !== '?';
    const [, number = '', path = ''] = /^(\d+)<([^>]*)>/.exec(args) ?? [];
    const file = decode(path);
    if (name === 'openat') {
      if (ended) this.#opened(args, result);
    } else if (/^(rename|link)/.test(name)) {
      if (ended && result === '0') this.#named(args, name.startsWith('link'));
    } else if (!`${file}/`.startsWith(`${this.#dir}/`)) return;
    else if (name === 'fsync' || name === 'fdatasync') this.#sync(file, ended, result);
    else if (!ended) this.#write(name, number, file, args);
  }

  /** Files as they would be found, by their names. */
  left(): Map<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const [path, { disk, synced }] of this.#files) if (synced) found.set(path, disk);
    for (const names of this.#names.values()) {
      for (const { from, to } of names.reverse()) {
        const bytes = found.get(to);
        found.delete(to);
        if (bytes && from !== null) found.set(from, bytes);
      }
    }
    return found;
  }

  #opened(args: string, result: string): void {
    const [, number, path = ''] = /^(\d+)<([^>]*)>/.exec(result) ?? [];
    const file = decode(path);
    if (number === undefined || !file.startsWith(`${this.#dir}/`)) return;
    const dsync = /O_D?SYNC/.test(args);
    this.#open.set(number, { dsync, at: args.includes('O_APPEND') ? 'end' : 0 });
    if (args.includes('O_TRUNC')) this.#change(file, dsync, { length: 0 });
  }

  #write(name: string, number: string, file: string, args: string): void {
    const state = this.#open.get(number) ?? { dsync: false, at: 0 };
    if (name === 'lseek') {
      if (state.at !== 'end') state.at = Number(/^\d+<[^>]*>, (\d+), SEEK_SET$/.exec(args)?.[1]);
      return;
    }
    if (name === 'ftruncate') {
      this.#change(file, state.dsync, { length: Number(/(\d+)$/.exec(args)?.[1]) });
      return;
    }
    const parts = [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) =>
      bytesOf(hex),
    );
    const bytes = Buffer.concat(parts);
    const placed = name.startsWith('p') ? Number(/(\d+)$/.exec(args)?.[1]) : null;
    const at = placed ?? (state.at === 'end' ? this.#of(file).length : state.at);
    if (placed === null && state.at !== 'end') state.at = at + bytes.length;
    this.#change(file, state.dsync, { at, bytes });
  }

  #change(path: string, dsync: boolean, change: Change): void {
    const file = this.#of(path);
    if ('length' in change) file.length = change.length;
    else file.length = Math.max(file.length, change.at + change.bytes.length);
    if (dsync) apply(file, change);
    else file.unsynced.push(change);
    file.synced ||= dsync;
  }

  #sync(path: string, ended: boolean, result: string): void {
    const file = this.#files.get(path);
    if (!ended) this.#syncs.set(path, file?.unsynced.length ?? 0);
    else if (result === '0') {
      this.#names.delete(path);
      if (file === undefined) return;
      for (const change of file.unsynced.splice(0, this.#syncs.get(path) ?? 0)) apply(file, change);
      file.synced = true;
    }
  }

  #named(args: string, isLink: boolean): void {
    const [from = '', to = ''] = [...args.matchAll(/"([^"]*)"/g)].map(([, hex = '']) =>
      decode(hex),
    );
    const file = this.#files.get(from);
    if (file === undefined || !to.startsWith(`${this.#dir}/`)) return;
    if (!isLink) this.#files.delete(from);
    this.#files.set(to, file);
    const folder = dirname(to);
    const names = this.#names.get(folder) ?? [];
    this.#names.set(folder, [...names, { from: isLink ? null : from, to }]);
  }

  #of(path: string): TracedFile {
    const known = this.#files.get(path);
    if (known) return known;
    const file = { length: 0, unsynced: [], disk: Buffer.alloc(0), synced: false };
    this.#files.set(path, file);
    return file;
  }
}

function apply(file: TracedFile, change: Change): void {
  const end = 'length' in change ? change.length : change.at + change.bytes.length;
  if ('length' in change ? end !== file.disk.length : end > file.disk.length) {
    const resized = Buffer.alloc(end);
    file.disk.copy(resized);
    file.disk = resized;
  }
  if ('bytes' in change) change.bytes.copy(file.disk, change.at);
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

function decode(hex: string): string {
  return bytesOf(hex).toString();
}

/**
 * Owns one PTY and the program on it.
 *
 * 1. Every byte of output is told, in order, and then the exit, once; whoever takes no more output has at
 *    most `terminalWindowBytes` waiting here, and then the program waits.
 * 2. Input the program does not take waits here; no turn of the loop is spent on it.
 * 3. The program has the PTY as its controlling terminal and none of this process's other descriptors.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { ReadStream } from 'node:tty';

import { requireBinary } from '@lydell/node-pty/requireBinary.js';

import type { Clock } from '../../lib/clock.ts';
import { confined } from '../runner/limits/launch.ts';
import { terminalWindowBytes } from '../../protocol/runner-messages.ts';
import type { PtySpec } from '../../protocol/terminal-messages.ts';

export interface PtyEvents {
  output(bytes: Uint8Array): void;
  written(count: number): void;
  left(): void;
  exit(code: number | null): void;
}

interface OpenedPty {
  /** Descriptors that do not block, and that children would inherit. */
  master: number;
  slave: number;
  /** Path of the slave. */
  pty: string;
}

/**
 * The native calls, without what the library puts round them: that drops output that is not read within
 * 200 ms of the program's end, keeps the loop busy while a program does not read, and leaves a program
 * under another uid the groups of root.
 */
const binding = requireBinary('pty.node') as {
  open(cols: number, rows: number): OpenedPty;
  resize(master: number, cols: number, rows: number): void;
};

export interface PtyOptions {
  spec: PtySpec;
  /** Descriptors of this process that its children would inherit: the masters of the other PTYs. */
  inheritable: readonly number[];
  clock: Clock;
  events: PtyEvents;
  /** A program that could not be started at all. */
  failed: (error: Error) => void;
}

/** How long what the first process left behind may hold the terminal. */
const leftoversMs = 5000;
const retryMinMs = 2;
const retryMaxMs = 100;
const restBytes = 16 * 1024;
/** Written input is told of in lumps of this size, and when all of it is written. */
const writtenLump = 16 * 1024;

const bash = '/bin/bash';
/** Opens the terminal by name, by which the first process of a session gets it as its controlling one. */
const prologue = 'exec <>"$0" >&0 2>&1; stty iutf8 2>/dev/null; exec "$@"';

export class Pty {
  readonly #options: PtyOptions;
  readonly #opened: OpenedPty;
  readonly #child: ChildProcess;
  readonly #reader: ReadStream;
  /** Told and not taken. */
  #untaken = 0;
  /** What was read last, when the terminal was gone while nobody took output. */
  #tail: Buffer | null = null;
  #input: Buffer[] = [];
  #untold = 0;
  #cancelRetry: (() => void) | undefined;
  #cancelLeftovers: (() => void) | undefined;
  #exitCode: number | null | undefined;
  #phase: 'open' | 'drained' | 'ended' = 'open';
  #holdsSlave = true;
  /** Where the launcher tells that it has opened the terminal; undefined: it was given it. */
  #status: Readable | Writable | undefined;

  /** Throws when the system gives no PTY. */
  constructor(options: PtyOptions) {
    const { spec } = options;
    this.#options = options;
    this.#opened = binding.open(spec.cols, spec.rows);
    try {
      if (spec.uid !== null) fs.fchownSync(this.#opened.slave, spec.uid, ttyGroup(this.#opened));
      this.#child = this.#spawn();
    } catch (error) {
      fs.closeSync(this.#opened.master);
      fs.closeSync(this.#opened.slave);
      throw error;
    }
    this.#leaveSlave();
    this.#reader = new ReadStream(this.#opened.master);
    this.#listen();
  }

  /** Undefined when nothing was started; `failed` tells why. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What children of this process would inherit of it. */
  get descriptors(): number[] {
    const { master, slave } = this.#opened;
    return this.#holdsSlave ? [master, slave] : [master];
  }

  write(bytes: Uint8Array): void {
    if (this.#phase !== 'open') return;
    this.#input.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (this.#cancelRetry === undefined) this.#writeOn(retryMinMs);
  }

  resize(cols: number, rows: number): void {
    if (this.#phase === 'open') binding.resize(this.#opened.master, cols, rows);
  }

  taken(count: number): void {
    this.#untaken = Math.max(0, this.#untaken - count);
    this.#read();
  }

  /** Hangs up: the kernel tells what runs on it. `exit` follows. */
  close(): void {
    if (this.#phase === 'ended') return;
    this.#end();
  }

  /** At once where the program has it, else as soon as its launcher has opened it: with nobody it hangs up. */
  #leaveSlave(): void {
    const close = (): void => {
      if (this.#holdsSlave) fs.closeSync(this.#opened.slave);
      this.#holdsSlave = false;
    };
    if (this.#status === undefined) return close();
    this.#status.once('data', close).on('error', () => undefined);
    this.#child.once('exit', close).once('error', close);
  }

  #spawn(): ChildProcess {
    const { spec, inheritable } = this.#options;
    const { master, slave, pty } = this.#opened;
    const others = [...inheritable, master, slave];
    // What waits outside for what has entered must not keep the terminal open.
    const isEntered = spec.place?.enter !== undefined;
    const { terminals = path.dirname(pty) } = spec.place ?? {};
    const name = path.join(terminals, path.basename(pty));
    const statusFd = isEntered ? freeFd(others) : null;
    const start = confined(
      { ...spec, command: throughPrologue(spec.command, name, others) },
      spec.place,
      spec.marks,
      statusFd,
      isEntered ? name : null,
    );
    const [program = '', ...args] = start.command;
    const idle = fs.openSync('/dev/null', fs.constants.O_RDWR);
    try {
      const own = isEntered ? idle : slave;
      const stdio: (number | 'ignore' | 'pipe')[] = [own, own, own];
      // In the place of each there is something harmless before any program begins.
      for (const fd of others) {
        while (stdio.length <= fd) stdio.push('ignore');
        stdio[fd] = idle;
      }
      if (statusFd !== null) stdio[statusFd] = 'pipe';
      const child = spawn(program, args, {
        cwd: start.workingDir,
        env: { ...start.env },
        // Its own session, which takes the terminal.
        detached: true,
        stdio,
        ...(start.uid !== null && { uid: start.uid, gid: start.uid }),
      });
      this.#status = statusFd === null ? undefined : (child.stdio[statusFd] ?? undefined);
      return child;
    } finally {
      fs.closeSync(idle);
    }
  }

  #listen(): void {
    const { events, failed } = this.#options;
    this.#child.once('error', (error) => {
      // Also told when a signal could not be sent; only without a pid did nothing start.
      if (this.#child.pid !== undefined || this.#phase === 'ended') return;
      this.#phase = 'ended';
      this.#reader.destroy();
      failed(error);
    });
    this.#child.once('exit', (code, signal) => {
      this.#exitCode = code ?? (signal === null ? null : 128 + constants.signals[signal]);
      if (this.#phase === 'ended') return;
      if (this.#phase === 'drained') {
        this.#finish();
        return;
      }
      events.left();
      this.#cancelLeftovers = this.#options.clock.after(leftoversMs, () => {
        // Only a process outside can hold it now; it loses the terminal.
        this.#drained();
      });
    });
    this.#reader.on('readable', () => this.#read());
    // Nobody has the other side open any more.
    for (const event of ['end', 'error'] as const) {
      this.#reader.once(event, () => this.#drained());
    }
  }

  #read(): void {
    if (this.#phase === 'ended') return;
    while (this.#untaken < terminalWindowBytes) {
      const chunk = this.#tail ?? (this.#reader.read() as Buffer | null);
      this.#tail = null;
      if (chunk === null) break;
      this.#untaken += chunk.length;
      this.#options.events.output(chunk);
    }
    if (this.#phase === 'drained') this.#finish();
    // Who writes output may have read input.
    else if (this.#cancelRetry !== undefined) this.#writeOn(retryMinMs);
  }

  /** Nothing comes behind what the reader and the PTY hold. */
  #drained(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'drained';
    this.#cancelLeftovers?.();
    this.#cancelRetry?.();
    this.#tail = this.#readRest();
    this.#reader.destroy();
    // It let go of its terminal and runs on: it is ended like what it might have left behind.
    if (this.#exitCode === undefined) this.#options.events.left();
    this.#read();
  }

  /** The reader takes the hang-up of the other side for the end, though there may be more to read. */
  #readRest(): Buffer | null {
    const held = this.#reader.read() as Buffer | null;
    const rest = held === null ? [] : [held];
    for (
      let more = readSome(this.#opened.master);
      more !== null;
      more = readSome(this.#opened.master)
    ) {
      rest.push(more);
    }
    return rest.length === 0 ? null : Buffer.concat(rest);
  }

  /** Once both are known: that all was told, and how the program ended. */
  #finish(): void {
    if (this.#tail !== null || this.#exitCode === undefined) return;
    this.#phase = 'ended';
    this.#options.events.exit(this.#exitCode);
  }

  #end(): void {
    this.#phase = 'ended';
    this.#cancelLeftovers?.();
    this.#cancelRetry?.();
    this.#input = [];
    this.#reader.destroy();
    this.#options.events.exit(this.#exitCode ?? null);
  }

  /** Writes what the PTY takes now; the rest waits, longer from time to time. */
  #writeOn(pauseMs: number): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    for (let first = this.#input[0]; first !== undefined; first = this.#input[0]) {
      const count = this.#writeSome(first);
      this.#untold += count;
      if (count === first.length) {
        this.#input.shift();
        continue;
      }
      this.#input[0] = first.subarray(count);
      const nextMs = count > 0 ? retryMinMs : Math.min(pauseMs * 2, retryMaxMs);
      this.#cancelRetry = this.#options.clock.after(pauseMs, () => this.#writeOn(nextMs));
      break;
    }
    if (this.#untold >= writtenLump || (this.#untold > 0 && this.#input.length === 0)) {
      this.#options.events.written(this.#untold);
      this.#untold = 0;
    }
  }

  #writeSome(bytes: Buffer): number {
    try {
      return fs.writeSync(this.#opened.master, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      return bytes.length; // The other side is gone: there is nobody to take it.
    }
  }
}

/** Null when nothing is left: the system holds some ten kB at most. */
function readSome(fd: number): Buffer | null {
  const buffer = Buffer.allocUnsafe(restBytes);
  try {
    const count = fs.readSync(fd, buffer);
    return count === 0 ? null : buffer.subarray(0, count);
  } catch {
    return null; // EIO: the end. EAGAIN: somebody else has it open, and loses it.
  }
}

/** The first behind the standard streams that is none of these. */
function freeFd(taken: readonly number[]): number {
  let fd = 3;
  while (taken.includes(fd)) fd++;
  return fd;
}

/** Group that may write to terminals; a change of owner leaves it. */
function ttyGroup({ slave }: OpenedPty): number {
  return fs.fstatSync(slave).gid;
}

/** A shell that puts the terminal in place, and is then replaced by the program. */
function throughPrologue(
  command: readonly string[],
  pty: string,
  fds: readonly number[],
): string[] {
  const shell = fs.existsSync(bash) ? bash : '/bin/sh';
  const program = command.length > 0 ? command : [shell];
  if (shell !== bash) return [shell, '-c', prologue, pty, ...program];
  // Other shells know no descriptors above 9: there these stay open on nothing.
  const closing = `exec ${fds.map((fd) => `${String(fd)}>&-`).join(' ')}; `;
  // -p: no start file and no function of the app's.
  return [bash, '-p', '-c', closing + prologue, pty, ...program];
}

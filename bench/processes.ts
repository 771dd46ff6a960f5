/**
 * Owns the processes of a scenario: servers and loads.
 *
 * 1. Everything started here is ended by `close`, by pid.
 * 2. A server that ends without being told to fails whatever is under way and all that comes after.
 * 3. Nothing is waited for without an end.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export interface Program {
  command: string;
  args: readonly string[];
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  /** The cores it may run on, as `taskset -c` wants them. */
  cpus?: string | null;
}

export type Child = ChildProcess & { stdout: Readable; stderr: Readable; pid: number };

const listensMs = 120_000;
const endsMs = 15_000;
/** Of what a process complained of, its end tells why it ended. */
const complaintMax = 4_000;

export class Processes {
  readonly #children = new Set<Child>();
  readonly #servers = new Map<Child, string>();
  readonly #complaints = new WeakMap<Child, string>();
  readonly #ending = new WeakSet<Child>();
  readonly #failure = new AbortController();
  #isClosed = false;

  /** Starts a server and waits for the line of its output that says that it listens. */
  async serve(program: Program, isReady: (line: string) => boolean): Promise<[Child, string]> {
    this.check();
    const child = this.start(program);
    const line = lineOf(child, program, isReady);
    return [child, await this.#orFailure(line)];
  }

  /** Starts a server that says nothing when it listens. */
  start(program: Program): Child {
    const child = this.#spawn(program);
    this.#servers.set(child, nameOf(program));
    void endOf(child).then((how) => {
      if (this.#ending.has(child)) return;
      this.#failure.abort(new Error(`${nameOf(program)} died: ${how}${this.#reason(child)}`));
    });
    return child;
  }

  /** Runs a load to its end and returns what it printed. */
  async run(program: Program, timeoutMs: number): Promise<string> {
    this.#failure.signal.throwIfAborted();
    const child = this.#spawn(program);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const closed = new Promise<number | string | null>((resolve) => {
      child.once('close', (code, signal) => resolve(signal ?? code));
    });
    const late = new AbortController();
    const limit = setTimeout(() => {
      late.abort();
      child.kill('SIGKILL');
    }, timeoutMs);
    try {
      const code = await this.#orFailure(closed);
      if (code === 0) return said;
      if (late.signal.aborted) {
        throw new Error(`${nameOf(program)} did not end within ${timeoutMs} ms`);
      }
      throw new Error(`${nameOf(program)} ended with ${String(code)}${this.#reason(child)}`);
    } finally {
      clearTimeout(limit);
      await this.end(child);
    }
  }

  /** Throws where a server died, be it this very moment. */
  check(): void {
    for (const [child, name] of this.#servers) {
      if (!this.#ending.has(child) && !isAlive(child.pid)) {
        this.#failure.abort(new Error(`${name} died${this.#reason(child)}`));
      }
    }
    this.#failure.signal.throwIfAborted();
  }

  async end(child: Child): Promise<void> {
    this.#ending.add(child);
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const hard = setTimeout(() => child.kill('SIGKILL'), endsMs);
      await ended;
      clearTimeout(hard);
    }
    this.#children.delete(child);
  }

  /** Ends one of ours at once, with no time to finish anything. */
  async kill(pid: number): Promise<void> {
    const child = [...this.#children].find((one) => one.pid === pid);
    if (child === undefined) throw new Error(`process ${pid} is none of ours, or has ended`);
    this.#ending.add(child);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    this.#children.delete(child);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#children, (child) => this.end(child)));
  }

  #spawn({ command, args, cwd, env = {}, cpus }: Program): Child {
    if (this.#isClosed) throw new Error('Cannot start a process: the scenario is over');
    const pinned = cpus == null ? [command, ...args] : ['taskset', '-c', cpus, command, ...args];
    const child = spawn(pinned[0] ?? '', pinned.slice(1), {
      ...(cwd !== undefined && { cwd }),
      env: { ...process.env, ...env },
      // In a session of its own, as a service manager or a shell starts it: the kernel may share the processor by them.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    }) as unknown as Child;
    // A program that cannot be started at all has no exit: nothing could be waited for.
    child.once('error', (error) => this.#failure.abort(error));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text);
      const said = (this.#complaints.get(child) ?? '') + text;
      this.#complaints.set(child, said.slice(-complaintMax));
    });
    if ((child.pid as number | undefined) !== undefined) this.#children.add(child);
    return child;
  }

  /** `: ` and what it said last, where it complained of anything: of an error its message. */
  #reason(child: Child): string {
    const lines = (this.#complaints.get(child) ?? '').split('\n').filter((line) => line.trim());
    const error = lines.findLast((line) => /^(?:Uncaught )?\w*Error(?: \[\w+\])?: /.test(line));
    const last = error ?? lines.at(-1);
    return last === undefined ? '' : `: ${last.trim()}`;
  }

  async #orFailure<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#failure;
    return await new Promise<T>((resolve, reject) => {
      const fail = (): void => reject(signal.reason as Error);
      if (signal.aborted) fail();
      signal.addEventListener('abort', fail, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', fail));
    });
  }
}

async function lineOf(
  child: Child,
  program: Program,
  isReady: (line: string) => boolean,
): Promise<string> {
  return await new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      reject(new Error(`${nameOf(program)} did not listen within ${listensMs} ms`));
    }, listensMs);
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!isReady(line)) return;
      clearTimeout(limit);
      resolve(line);
    });
    void endOf(child).then((how) => {
      clearTimeout(limit);
      reject(new Error(`${nameOf(program)} ended with ${how} before it listened`));
    });
  });
}

/** What was written before the end may come behind it, but others may hold the pipe open for ever. */
const lastWordsMs = 300;

/** The signal or code that a process ended with, once its last words are here. */
async function endOf(child: Child): Promise<string> {
  return await new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      const end = (): void => {
        clearTimeout(limit);
        resolve(String(signal ?? code));
      };
      const limit = setTimeout(end, lastWordsMs);
      child.once('close', end);
    });
  });
}

function nameOf({ args, command }: Program): string {
  const file = args.find((arg) => /\.[cm]?[jt]s$/.test(arg) && !arg.endsWith('strip-cache.mjs'));
  return file ?? command;
}

/** One that ended and was not yet told to its parent is none. */
function isAlive(pid: number): boolean {
  try {
    // Who dies lets go of its program before it is seen to be dead.
    readlinkSync(`/proc/${pid}/exe`);
    return true;
  } catch {
    // It has gone, or goes.
    return false;
  }
}

/** What the kernel counts CPU in, in microseconds: what took less may be told as nothing. */
export const cpuTickUs = 10_000;

export interface Usage {
  /** User and system time so far, in microseconds. */
  cpuUs: number;
  rssBytes: number;
  /** Of it, what is no page of a file. */
  ownBytes: number;
}

/** Reads a process's usage from /proc. */
export function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytesOf = (name: string): number => {
    const kb = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
    if (kb === undefined) throw new Error(`process ${pid} is dead`);
    return Number(kb) * 1024;
  };
  return { cpuUs: cpuUsOf(pid), rssBytes: bytesOf('VmRSS'), ownBytes: bytesOf('RssAnon') };
}

/** RSS of a process in bytes, ten times a second until the work is over. Rejects as the work does. */
export async function rssWhile(pid: number, work: Promise<unknown>): Promise<number[]> {
  const readings: number[] = [];
  const state = { isOver: false };
  const end = (): void => {
    state.isOver = true;
  };
  work.then(end, end);
  while (!state.isOver) {
    readings.push(usageOf(pid).rssBytes);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await work;
  return readings;
}

/** As the kernel tells it of a whole process, threads that have ended too: in ticks. */
function cpuUsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * cpuTickUs;
}

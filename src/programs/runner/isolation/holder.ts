/**
 * Owns the process that holds a workload's namespaces open: pid 1 in there, which does nothing but wait for
 * what has lost its parent.
 *
 * 1. It ends with this process, however this ends, and with it, where it has a pid namespace, all that is in
 *    there.
 * 2. It can't be ended from inside: it is root's, and the first of its namespace.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { allPids, type ControlGroup, readProcess } from '../../../lib/processes/processes.ts';
import { complaintOf, toolEnvironment } from '../system-tools.ts';

/** By the names of `/proc/<pid>/ns` and the options of unshare(1) and nsenter(1). */
const optionOf = { mnt: 'mount', pid: 'pid', ipc: 'ipc', uts: 'uts', net: 'net' } as const;
export type Namespace = keyof typeof optionOf;

export interface HolderTools {
  unshare: string;
  nsenter: string;
  setpriv: string;
  setsid: string;
  timeout: string;
}

export interface HolderOptions {
  tools: HolderTools;
  /** A folder of ours. */
  dir: string;
  namespaces: readonly Namespace[];
  /** Lines as in fstab(5). */
  mounts: readonly string[];
  hostname: string;
  /** A file that is to be there, empty as JSON, once all is mounted; null: none. */
  manifest: string | null;
}

/**
 * `read` tells the pid as the machine has it: the mounted /proc is the machine's. Ignoring CHLD is handed on
 * to `sleep`, for which the kernel then reaps what has ended.
 */
const script = `
read -r pid rest < /proc/self/stat
if [ "$2" != '' ]; then mount -a -T "$2" 1>&2 || exit 1; fi
if [ "$3" != '' ]; then echo '{}' > "$3" || exit 1; fi
if [ "$1" != '' ]; then echo "$1" > /proc/sys/kernel/hostname || exit 1; fi
trap '' CHLD
echo "$pid"
exec sleep infinity < /dev/null > /dev/null 2>&1
`;

export class Holder {
  /** As the machine has it. */
  readonly pid: number;
  readonly #tools: HolderTools;
  readonly #child: ChildProcess;
  /** Of the namespaces: with a number alone, what has taken the number might be entered. */
  readonly #fds: ReadonlyMap<Namespace, number>;
  #isClosed = false;

  private constructor(pid: number, child: ChildProcess, { tools, namespaces }: HolderOptions) {
    this.pid = pid;
    this.#child = child;
    this.#tools = tools;
    this.#fds = new Map(
      namespaces.map((name) => [name, fs.openSync(`/proc/${String(pid)}/ns/${name}`, 'r')]),
    );
  }

  /** Rejects with an Error that holds what the system says. */
  static async open(options: HolderOptions): Promise<Holder> {
    const { tools, dir, namespaces, mounts, hostname, manifest } = options;
    const own = namespaces.map((name) => `--${optionOf[name]}`);
    const named = namespaces.includes('uts') ? hostname : '';
    // It takes no pipe.
    const fstab = path.join(dir, 'mounts');
    fs.writeFileSync(fstab, mounts.map((one) => `${one}\n`).join(''), { mode: 0o600 });
    const words = [named, mounts.length === 0 ? '' : fstab, manifest ?? ''];
    const args = [
      ...['--pdeathsig', 'KILL', '--', tools.unshare, ...own, '--fork', '--kill-child', '--'],
      ...['/bin/sh', '-c', script, 'gangway-holder', ...words],
    ];
    const child = spawn(tools.setpriv, args, {
      cwd: '/',
      detached: true,
      env: toolEnvironment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      return new Holder(await pidToldBy(child), child, options);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  /** Whether it is there still. */
  get holds(): boolean {
    return !this.#isClosed && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * What runs the program named behind it inside, as the first of a session of its own, and ends as that
   * does. The process that waits stays outside.
   */
  get enter(): string[] {
    const { nsenter, timeout, setsid } = this.#tools;
    const into = [...this.#fds].map(
      ([name, fd]) => `--${optionOf[name]}=/proc/${String(process.pid)}/fd/${String(fd)}`,
    );
    // Whoever waits passes on exit code and signal. nsenter would stop together with the program and not go
    // on with it; unshare does not pass on SIGKILL.
    const wait = [timeout, '--foreground', '0'];
    return [nsenter, ...into, '--no-fork', '--', ...wait, setsid, '--'];
  }

  /** All processes of its pid namespace but itself. */
  get group(): ControlGroup {
    const own = fs.fstatSync(this.#fds.get('pid') ?? -1).ino;
    const pids = (): number[] =>
      allPids().filter(
        (pid) => pid !== this.pid && pidNamespaceOf(pid) === own && readProcess(pid) !== undefined,
      );
    // They are ended one by one: the holder is to stay.
    return { pids, kill: () => undefined };
  }

  /** Resolves when it is gone. Twice is fine. */
  async close(): Promise<void> {
    if (!this.#isClosed) for (const fd of this.#fds.values()) fs.closeSync(fd);
    this.#isClosed = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await gone;
  }
}

/** Undefined for a process that has ended. */
function pidNamespaceOf(pid: number): number | undefined {
  return fs.statSync(`/proc/${String(pid)}/ns/pid`, { throwIfNoEntry: false })?.ino;
}

function pidToldBy(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let [told, complaint] = ['', ''];
    child.stdout?.setEncoding('latin1').on('data', (text: string) => {
      told += text;
      if (told.endsWith('\n')) resolve(Number(told));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const reason = complaintOf('unshare', complaint) ?? `it ended with ${String(code ?? signal)}`;
      reject(new Error(`Cannot make namespaces: ${reason}`));
    });
  });
}

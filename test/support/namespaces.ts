/** Owns network namespaces as workloads have them, for tests that run as root. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

import type { WorkloadSpec } from '../../src/protocol/workload.ts';
import { eventually } from './eventually.ts';
import { programPath } from './programs.ts';

/** Longer than any that is answered takes. */
const connectSeconds = 5;
const run = promisify(execFile);

/** A fresh namespace and a process that holds it. */
export class Namespace {
  readonly #holder: ChildProcess;
  readonly #servers: ChildProcess[] = [];

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  static async open(): Promise<Namespace> {
    const unshare = programPath('unshare') ?? 'unshare';
    const holder = spawn(unshare, ['--net', 'sleep', '3600'], { stdio: 'ignore' });
    const ours = fs.readlinkSync('/proc/self/ns/net');
    const space = new Namespace(holder);
    await eventually('the namespace', () => fs.readlinkSync(space.#path) !== ours);
    return space;
  }

  get pid(): number {
    return this.#holder.pid ?? 0;
  }

  get #path(): string {
    return `/proc/${String(this.pid)}/ns/net`;
  }

  /** What a program is run by to be inside. */
  get within(): readonly string[] {
    return [programPath('nsenter') ?? 'nsenter', `--net=${this.#path}`, '--'];
  }

  /** A line from here into it, with an address at either end, of the same network of 4 addresses. */
  async join(name: string, ours: string, theirs: string): Promise<void> {
    const ip = (...args: string[]): Promise<unknown> => run(programPath('ip') ?? 'ip', args);
    const inside = (...args: string[]): Promise<unknown> => {
      const [program, ...first] = [...this.within, programPath('ip') ?? 'ip'];
      return run(program, [...first, ...args]);
    };
    await ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'up0', 'netns', String(this.pid));
    await ip('address', 'add', `${ours}/30`, 'dev', name);
    await ip('link', 'set', name, 'up');
    await inside('address', 'add', `${theirs}/30`, 'dev', 'up0');
    await inside('link', 'set', 'lo', 'up');
    await inside('link', 'set', 'up0', 'up');
    await inside('route', 'add', 'default', 'via', ours);
  }

  /** Says each visitor its address, after `greeting`. */
  async serve(host: string, port: number, greeting: string): Promise<void> {
    const script = `require('net').createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end(${JSON.stringify(greeting)} + ' ' + socket.remoteAddress);
    }).listen(${String(port)}, ${JSON.stringify(host)}, () => console.log('up'))`;
    const server = this.spawn([process.execPath, '-e', script]);
    this.#servers.push(server);
    await once(server.stdout, 'data');
  }

  /** A program inside. */
  spawn([program = '', ...args]: readonly string[]): ChildProcess & { stdout: Readable } {
    const [enter = '', ...inside] = [...this.within, program, ...args];
    return spawn(enter, inside, { stdio: ['ignore', 'pipe', 'inherit'] });
  }

  /** What a server says; `no` when none is reached. */
  visit(host: string, port: number, seconds = connectSeconds): Promise<string> {
    return visitBy(this.within, host, port, seconds);
  }

  async close(): Promise<void> {
    for (const one of [...this.#servers, this.#holder]) {
      if (one.exitCode !== null || one.signalCode !== null) continue;
      const exited = once(one, 'exit');
      one.kill('SIGKILL');
      await exited;
    }
  }
}

/** The same as seen from the machine. */
export function visit(host: string, port: number): Promise<string> {
  return visitBy([], host, port, connectSeconds);
}

function visitBy(
  within: readonly string[],
  host: string,
  port: number,
  seconds: number,
): Promise<string> {
  const script = 'exec 3<>/dev/tcp/$0/$1 && cat <&3';
  const command = ['timeout', String(seconds), 'bash', '-c', script, host, String(port)];
  const [program = '', ...args] = [...within, ...command];
  return new Promise((resolve) => {
    execFile(program, args, (error, stdout) => {
      resolve(error === null ? stdout : 'no');
    });
  });
}

/** The little of a workload that its network depends on. */
export function networkSpec(more: Partial<WorkloadSpec> = {}): WorkloadSpec {
  return {
    id: 'web-1',
    owner: 'app_1',
    kind: 'service',
    command: [],
    workingDir: '/',
    env: {},
    uid: null,
    port: null,
    container: null,
    resources: { memoryMb: null, cpus: null, pids: null, replicas: 1 },
    deadlineMs: null,
    stopGraceMs: 0,
    ...more,
  };
}

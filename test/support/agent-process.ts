/** Owns an agent in a process of its own, over a data directory, known by its output and how it ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

import { freePort } from './ports.ts';

const program = path.resolve(import.meta.dirname, '../../src/main.ts');

export interface AgentProcessOptions {
  dataDir: string;
  /** Besides the data directory and the address of its edge. */
  args?: readonly string[];
  /** What it reads from its standard input. */
  input?: string;
  /** Instead of the command line of a clone. */
  command?: readonly string[];
  /** What it is run by, such as in another network namespace. */
  within?: readonly string[];
}

export interface AgentExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class AgentProcess {
  /** Of all its starts. */
  output = '';
  edgePort = 0;
  readonly #options: AgentProcessOptions;
  #child: ChildProcess | null = null;
  #exit: Promise<AgentExit> = Promise.resolve({ code: 0, signal: null });

  constructor(options: AgentProcessOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(more: readonly string[] = []): Promise<void> {
    const { dataDir, args = [], input = '', command, within = [] } = this.#options;
    this.edgePort ||= await freePort();
    const own = command ?? ['--disable-warning=ExperimentalWarning', program, 'agent'];
    const edge = ['--edge-host', '127.0.0.1', '--edge-port', String(this.edgePort)];
    const [starter, ...first] = [...within, process.execPath];
    const child = spawn(starter, [
      ...first,
      ...own,
      '--data-dir',
      dataDir,
      ...edge,
      ...args,
      ...more,
    ]);
    const hear = (chunk: Buffer): void => {
      this.output += chunk.toString();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.stdin.on('error', () => undefined); // It has ended.
    child.stdin.end(input);
    this.#exit = once(child, 'close').then(([code, signal]) => {
      if (this.#child === child) this.#child = null;
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
    this.#child = child;
  }

  /** Resolves when it has ended by itself. */
  ended(): Promise<AgentExit> {
    return this.#exit;
  }

  /** Resolves when it is gone. */
  async end(signal: NodeJS.Signals): Promise<AgentExit> {
    this.#child?.kill(signal);
    return this.#exit;
  }
}

/**
 * Owns what every scenario uses: servers and load in processes of their own, and rounds.
 *
 * 1. Ours and others run in the same rounds, in turn, so that a noisy machine hits all of them.
 * 2. A server that dies, is not reached or answers wrongly is an error, never a figure.
 * 3. Everything started here is ended by `close`, and every directory made here is removed.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answers, endRunner, freePort, graphql, setUp } from './gangway.ts';
import type { Gangway, Server } from './gangway.ts';
import { promptFlags } from './load/promptness.ts';
import type { Affinity } from './machine.ts';
import type { Row } from './model.ts';
import { Processes, usageOf } from './processes.ts';
import type { Child, Program } from './processes.ts';

export type { Gangway, Server };

export interface Scenario {
  title: string;
  run(bench: Bench): Promise<Row[]>;
}

export interface MeasuredStart {
  firstAnswerMs: number;
  idleRssBytes: number;
  /** Of it, what is no page of a file: a store that was read through stands in the page cache. */
  idleOwnBytes: number;
}

export interface BenchOptions {
  quick: boolean;
  /** The project whose Gangway is measured; the programs of the bench are always its own. */
  root?: string;
  /** The Node that runs that Gangway. */
  node?: string;
  affinity?: Affinity | null;
  /** Called before each round: returns when it is this side's turn. */
  turn?: () => Promise<void>;
  /** Leave out what is not Gangway: when it is held against itself. */
  oursOnly?: boolean;
  /** How many rounds a smoke has. */
  quickRounds?: number;
}

/** The project that this bench belongs to. */
export const home = fileURLToPath(new URL('..', import.meta.url));

/** What `npm start` gives the C library: memory of large blocks goes back to the system when it is freed. */
const mallocEnv = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '262144',
};
const startMs = 120_000;
const loadMs = 300_000;

export class Bench {
  readonly quick: boolean;
  readonly oursOnly: boolean;
  readonly #root: string;
  readonly #node: string;
  readonly #affinity: Affinity | null;
  readonly #turn: () => Promise<void>;
  readonly #processes = new Processes();
  readonly #ours = new Set<number>();
  readonly #dirs: string[] = [];
  readonly #quickRounds: number;

  constructor(options: BenchOptions) {
    const { quick, root = home, node = process.execPath, affinity = null } = options;
    this.quick = quick;
    this.oursOnly = options.oursOnly ?? false;
    this.#root = root;
    this.#node = node;
    this.#affinity = affinity;
    this.#quickRounds = options.quickRounds ?? 1;
    this.#turn = options.turn ?? (() => Promise.resolve());
  }

  /** `full` in a real run, `quick` in a smoke. */
  pick<T>(full: T, quick: T): T {
    return this.quick ? quick : full;
  }

  tempDir(): string {
    const dir = mkdtempSync(join(tmpdir(), 'gangway-bench-'));
    this.#dirs.push(dir);
    return dir;
  }

  /** Whether this is the Gangway that is measured. */
  isOurs({ pid }: Server): boolean {
    return this.#ours.has(pid);
  }

  /** Measures round by round; one round in a smoke, as a rule. A server that died meanwhile ends it. */
  async eachRound(full: number, work: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; round < this.pick(full, this.#quickRounds); round++) {
      await this.#turn();
      await work(round);
      this.#processes.check();
    }
  }

  /**
   * Starts a program of the bench that prints one JSON line `{"port": …}` once it listens. What else it prints there
   * is told, too: so is `pid`, where another process than its own is the one that serves.
   */
  async startServer<More = unknown>(
    file: string,
    args: readonly string[] = [],
  ): Promise<Server & More> {
    const program = { ...this.#program(home, file, args), cpus: this.#affinity?.servers ?? null };
    const [{ pid }, line] = await this.#processes.serve(program, (text) => text.startsWith('{'));
    const said = JSON.parse(line) as { port: number } & More;
    return { url: `http://127.0.0.1:${said.port}`, pid, ...said };
  }

  /** Starts Gangway, on an empty data directory where `env` names none, and sets it up. */
  async startGangway(env: Readonly<Record<string, string>> = {}): Promise<Gangway> {
    const dataDir = env['GANGWAY_DATA_DIR'] ?? this.tempDir();
    const program = this.#gangway({
      GANGWAY_PORT: '0',
      GANGWAY_EDGE_PORT: String(await freePort()),
      // Figures are those of one runtime, whatever the machine has besides.
      GANGWAY_RUNTIME: 'process',
      ...env,
      GANGWAY_DATA_DIR: dataDir,
    });
    const listens = /http:\/\/[\d.]+:\d+/;
    const [{ pid }, line] = await this.#processes.serve(program, (text) => listens.test(text));
    this.#ours.add(pid);
    const url = listens.exec(line)?.[0] ?? '';
    const cookie = await setUp(url);
    return {
      url,
      port: Number(new URL(url).port),
      pid,
      cookie,
      dataDir,
      graphql: (query, variables) => graphql(url, cookie, query, variables),
    };
  }

  /**
   * Starts the agent of a server that was added to a Gangway; its files are in the folder. Returns once it is connected.
   */
  async startAgent(dataDir: string, control: string, token: string): Promise<void> {
    const tokenFile = join(dataDir, 'token');
    writeFileSync(tokenFile, token);
    const edgePort = String(await freePort());
    const own = ['agent', '--control', control, '--data-dir', dataDir, '--token-file', tokenFile];
    const program = this.#gangway({}, [
      ...own,
      '--edge-host',
      '127.0.0.1',
      '--edge-port',
      edgePort,
    ]);
    const isConnected = (line: string): boolean => line.includes('agent_connected');
    await this.#processes.serve(program, isConnected);
  }

  /** A start of its own: time to the first answer, and memory at rest after it. */
  async measureStart(env: Readonly<Record<string, string>> = {}): Promise<MeasuredStart> {
    const { child, startedMs } = await this.#freshStart(env);
    const firstAnswerMs = performance.now() - startedMs;
    await new Promise((resolve) => setTimeout(resolve, this.pick(2000, 200)));
    const { rssBytes: idleRssBytes, ownBytes: idleOwnBytes } = usageOf(child.pid);
    await this.#processes.end(child);
    return { firstAnswerMs, idleRssBytes, idleOwnBytes };
  }

  /** A start of its own: milliseconds until `ask`, begun at the first sign of life, has its answer. */
  async measureFirst(
    env: Readonly<Record<string, string>>,
    ask: (url: string) => Promise<void>,
  ): Promise<number> {
    const { child, startedMs, url } = await this.#freshStart(env);
    await ask(url);
    const answeredMs = performance.now() - startedMs;
    await this.#processes.end(child);
    return answeredMs;
  }

  /** Ends a server as a crash does, without a word: what it promised to keep can be looked for. */
  async crash({ pid }: Server): Promise<void> {
    await this.#processes.kill(pid);
  }

  /** Runs a load program to its end; its last line is its result as JSON. */
  async load<T>(file: string, args: object, { timeoutMs = loadMs } = {}): Promise<T> {
    const { args: own, ...rest } = this.#program(home, file, [JSON.stringify(args)]);
    const program = { ...rest, args: [...promptFlags, ...own], cpus: this.#affinity?.load ?? null };
    return resultOf<T>(file, await this.#processes.run(program, timeoutMs));
  }

  /** As `load`, but a program that runs parts of Gangway as Gangway does: `root` is where they are. */
  async runOurs<T>(file: string, args: object): Promise<T> {
    const rest = this.#program(home, file, [JSON.stringify({ ...args, root: this.#root })]);
    const cpus = this.#affinity?.load ?? null;
    const program = { ...rest, command: this.#node, env: mallocEnv, cpus };
    return resultOf<T>(file, await this.#processes.run(program, loadMs));
  }

  /** Runs an installed program that makes load to its end; what it printed. */
  async run(command: string, args: readonly string[]): Promise<string> {
    const program = { command, args, cpus: this.#affinity?.load ?? null };
    return await this.#processes.run(program, loadMs);
  }

  /** A module of the project that is measured: where something of it runs in this process. */
  async module<T>(file: string): Promise<T> {
    return (await import(join(this.#root, file))) as T;
  }

  /** Throws where a server died. */
  check(): void {
    this.#processes.check();
  }

  async close(): Promise<void> {
    await this.#processes.close();
    for (const dir of this.#dirs) {
      await endRunner(dir);
      rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
  }

  /** Returns once it answers for the first time. */
  async #freshStart(
    env: Readonly<Record<string, string>>,
  ): Promise<{ child: Child; startedMs: number; url: string }> {
    const port = await freePort();
    const edgePort = String(await freePort());
    const dataDir = env['GANGWAY_DATA_DIR'] ?? this.tempDir();
    const url = `http://127.0.0.1:${port}`;
    const startedMs = performance.now();
    const child = this.#processes.start(
      this.#gangway({
        GANGWAY_PORT: String(port),
        GANGWAY_EDGE_PORT: edgePort,
        GANGWAY_RUNTIME: 'process',
        ...env,
        GANGWAY_DATA_DIR: dataDir,
      }),
    );
    child.stdout.resume();
    while (!(await answers(`${url}/api/health`))) {
      this.#processes.check();
      if (performance.now() - startedMs > startMs) throw new Error('Gangway does not start');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return { child, startedMs, url };
  }

  #gangway(env: Readonly<Record<string, string>>, args: readonly string[] = ['serve']): Program {
    const program = this.#program(this.#root, 'src/main.ts', args);
    const cpus = this.#affinity?.servers ?? null;
    return { ...program, command: this.#node, env: { ...mallocEnv, ...env }, cpus };
  }

  #program(root: string, file: string, args: readonly string[]): Program {
    const hook = './src/strip-cache.mjs';
    const stripped = existsSync(join(root, hook)) ? ['--import', hook] : [];
    const flags = ['--disable-warning=ExperimentalWarning', ...stripped];
    return { command: process.execPath, args: [...flags, file, ...args], cwd: root };
  }
}

function resultOf<T>(file: string, said: string): T {
  const last = said.trimEnd().split('\n').at(-1) ?? '';
  if (last === '') throw new Error(`${file} reported nothing`);
  return JSON.parse(last) as T;
}

/**
 * Owns what every scenario uses: servers and load in processes of their own, readings from /proc,
 * interleaved rounds and medians.
 *
 * 1. Ours and the bare library run in the same rounds, in turn, so that a noisy machine hits both.
 * 2. A server that dies, is not reached or answers wrongly is an error, never a figure.
 * 3. Everything started here is ended by `close`, by pid.
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Server {
  url: string;
  port: number;
  pid: number;
}

export interface Gangway extends Server {
  /** `Cookie` header of the owner. */
  cookie: string;
  dataDir: string;
  /** Runs a GraphQL document as the owner; throws on any error. */
  graphql<T>(query: string, variables?: object): Promise<T>;
}

export interface Row {
  what: string;
  ours: number;
  /** The bare library, or whatever the row is held against; null for a plain reading. */
  against: number | null;
  unit: string;
  /** ours / against. */
  ratio: number | null;
  goal: string;
}

export interface Scenario {
  title: string;
  run(bench: Bench): Promise<Row[]>;
}

export class Bench {
  readonly quick: boolean;
  readonly #children: ChildProcess[] = [];
  readonly #dirs: string[] = [];

  constructor(quick: boolean) {
    this.quick = quick;
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

  /** Starts a program of ours that prints one JSON line `{"port": …}` once it listens. */
  async startServer(file: string, args: readonly string[] = []): Promise<Server> {
    const child = this.#spawn(file, args, {});
    const line = await firstLine(child, (text) => text.startsWith('{'));
    const { port } = JSON.parse(line) as { port: number };
    return { port, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0 };
  }

  /** Starts Gangway on an empty data directory and sets it up. */
  async startGangway(env: Readonly<Record<string, string>> = {}): Promise<Gangway> {
    const dataDir = this.tempDir();
    const child = this.#spawn('src/main.ts', ['serve'], {
      GANGWAY_PORT: '0',
      GANGWAY_EDGE_PORT: String(await freePort()),
      GANGWAY_DATA_DIR: dataDir,
      ...env,
    });
    const line = await firstLine(child, (text) => /http:\/\/[\d.]+:\d+/.test(text));
    const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0] ?? '';
    const pid = child.pid ?? 0;
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

  /** A start on an empty data directory: time to the first answer, and memory at rest after it. */
  async measureStart(): Promise<{ firstAnswerMs: number; idleRssBytes: number }> {
    const port = await freePort();
    const startMs = performance.now();
    const child = this.#spawn('src/main.ts', ['serve'], {
      GANGWAY_PORT: String(port),
      GANGWAY_EDGE_PORT: String(await freePort()),
      GANGWAY_DATA_DIR: this.tempDir(),
    });
    child.stdout?.resume();
    const url = `http://127.0.0.1:${port}/api/health`;
    while (!(await answers(url))) {
      if (performance.now() - startMs > 20_000) throw new Error('it does not start');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const firstAnswerMs = performance.now() - startMs;
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const idleRssBytes = usageOf(child.pid ?? 0).rssBytes;
    await end(child);
    return { firstAnswerMs, idleRssBytes };
  }

  /** Runs a load program to its end; its last line is its result as JSON. */
  async load<T>(file: string, args: object): Promise<T> {
    const child = this.#spawn(file, [JSON.stringify(args)], {});
    const lines: string[] = [];
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      lines.push(line);
    });
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    if (code !== 0) throw new Error(`${file} ended with ${String(code)}`);
    return JSON.parse(lines.at(-1) ?? 'null') as T;
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.map(end));
    for (const dir of this.#dirs) {
      await endRunner(dir);
      rmSync(dir, { recursive: true, force: true });
    }
  }

  #spawn(
    file: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): ChildProcess {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--import', './src/strip-cache.mjs', file, ...args],
      { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#children.push(child);
    return child;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    // Nothing listens yet.
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function firstLine(child: ChildProcess, wanted: (line: string) => boolean): Promise<string> {
  return await new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      if (wanted(line)) resolve(line);
    });
    child.once('exit', (code) => {
      reject(
        new Error(`${child.spawnargs.join(' ')} ended with ${String(code)} before it listened`),
      );
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const hard = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(hard);
}

/** The runner outlives Gangway on purpose; a benchmark ends it, found by its data directory. */
async function endRunner(dataDir: string): Promise<void> {
  const found = spawnSync('pgrep', ['-f', dataDir], { encoding: 'utf8' });
  for (const pid of found.stdout.split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGTERM');
    } catch {
      // It ended by itself meanwhile.
    }
  }
  const gone = (): boolean => spawnSync('pgrep', ['-f', dataDir]).status !== 0;
  for (let tries = 0; tries < 100 && !gone(); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  spawnSync('pkill', ['-9', '-f', dataDir]);
}

export async function graphql<T>(
  url: string,
  cookie: string,
  query: string,
  variables: object = {},
): Promise<T> {
  const response = await fetch(`${url}/api/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify({ query, variables }),
  });
  const body = (await response.json()) as { data?: T; errors?: { message: string }[] };
  if (body.errors !== undefined || body.data === undefined) {
    throw new Error(`${query.slice(0, 60)}: ${JSON.stringify(body)}`);
  }
  return body.data;
}

async function setUp(url: string): Promise<string> {
  const response = await fetch(`${url}/api/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      query: `mutation { completeSetup(email: "bench@example.com", password: "bench bench bench",
        name: "Bench", teamName: "Bench") { viewer { id } } }`,
    }),
  });
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0];
  if (cookie === undefined) throw new Error(`setup failed: ${await response.text()}`);
  return cookie;
}

export interface Usage {
  /** User and system time so far, in microseconds. */
  cpuUs: number;
  rssBytes: number;
}

/** Reads a process's usage from /proc. */
export function usageOf(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpuUs: ticks * 10_000, rssBytes: Number(rss) * 1024 };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** A row whose ratio is the median of the ratios round by round. */
export function compare(
  what: string,
  unit: string,
  goal: string,
  ours: readonly number[],
  against: readonly number[],
): Row {
  const ratios = ours.map((value, i) => value / (against[i] ?? Number.NaN));
  return { what, unit, goal, ours: median(ours), against: median(against), ratio: median(ratios) };
}

/**
 * A whole Gangway in a process of its own, over a data directory of its own, as a person runs it:
 * for scenarios that know it by HTTP, by its output and by its signals alone.
 *
 * 1. A restart serves the same data directory on the same ports.
 * 2. `end` leaves nothing behind: it fails when a process of the data directory is still there.
 * 3. GANGWAY_GATEWAY_THREADS of the tests' own environment holds for it too, so that the same scenarios
 *    run with any number of gateway threads.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './eventually.ts';
import { Client, owner } from './gangway-client.ts';
import { freePort } from './ports.ts';
import { isAlive, processesOf, runnerOf, signal } from './processes.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
export { until };

// As `npm start` runs it: what was stripped and compiled once is not again at each start.
const stripCache = fileURLToPath(new URL('../../src/strip-cache.mjs', import.meta.url));
const cheapPasswords = fileURLToPath(new URL('./cheap-passwords.ts', import.meta.url));
const preloads = [stripCache, cheapPasswords].flatMap((file) => ['--import', file]);
const nodeFlags = ['--disable-warning=ExperimentalWarning', ...preloads];
const threads = process.env['GANGWAY_GATEWAY_THREADS'];
const startMs = 120_000;
/** Of another command: a copy syncs each of its files. */
const commandMs = 150_000;
const endMs = 120_000;
/** More than the service gives itself. */
const stopMs = 60_000;

export interface GangwayOptions {
  /** Further variables, by their whole name. */
  env?: Record<string, string>;
  /** One that is there; it stays when this ends. Default one of its own. */
  dataDir?: string;
  /** Further arguments of node. */
  nodeArgs?: readonly string[];
  /** A program that runs it, with its arguments. */
  runBy?: readonly string[];
  /** What serves instead, such as npm and its arguments: in the checkout, in a process group of its own. */
  served?: readonly string[];
  /** Lines of its log that would tell of a bug, were it not provoked. */
  provoked?: RegExp;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class Gangway {
  readonly dataDir: string;
  readonly edgePort: number;
  /** All it wrote to its outputs, over all its starts. */
  output = '';
  port: number;
  /** The owner of the instance, signed in by `setUp`. */
  client: Client;
  /** The checkout that it is started from. */
  checkout = root;
  readonly #folder: string | undefined;
  readonly #env: Record<string, string>;
  readonly #command: readonly string[];
  readonly #served: readonly string[] | undefined;
  readonly #provoked: RegExp | undefined;
  #child: ChildProcess | undefined;
  #exit: Promise<Exit> = Promise.resolve({ code: 0, signal: null });

  private constructor(options: GangwayOptions, ports: { port: number; edgePort: number }) {
    if (options.dataDir === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'gangway-whole-'));
      // The uids of apps may walk through it, as through most places of a clone.
      chmodSync(this.#folder, 0o711);
      this.dataDir = join(this.#folder, 'data');
    } else this.dataDir = options.dataDir;
    this.port = ports.port;
    this.edgePort = ports.edgePort;
    this.#env = options.env ?? {};
    const { runBy = [], nodeArgs = [] } = options;
    const node = [process.execPath, ...nodeFlags, ...nodeArgs];
    this.#command = [...runBy, ...node];
    this.#served = options.served;
    this.#provoked = options.provoked;
    // Also when the test process ends before its time.
    process.once('exit', this.#onExit);
    this.client = new Client(this);
  }

  readonly #onExit = (): void => {
    for (const { pid } of processesOf(this.dataDir)) signal(pid, 'SIGKILL');
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  };

  /** Not started yet. */
  static async create(options: GangwayOptions = {}): Promise<Gangway> {
    return new Gangway(options, { port: await freePort(), edgePort: await freePort() });
  }

  /** Started, and set up by its first account. */
  static async open(options: GangwayOptions = {}): Promise<Gangway> {
    const gangway = await Gangway.create(options);
    try {
      await gangway.start();
      await gangway.client.setUp();
    } catch (error) {
      // Nobody else knows of it. Why it failed is told, not what came of that.
      await gangway.end().catch(() => undefined);
      throw error;
    }
    return gangway;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('it is not running');
    return pid;
  }

  /** Resolves once it printed its address. */
  async start(): Promise<void> {
    const child = this.#process(['serve'], {}, this.#served);
    this.#child = child;
    this.#exit = endOf(child);
    const before = this.output.length;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    // A public URL of its own does not say the port; then it is the one it was given.
    const line = /Gangway serves on (?:http:\/\/[^\s;]*?:(\d+)\b|https:).*\n/;
    await until('it serves', startMs, () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${this.output.slice(before)}`);
      return line.test(this.output.slice(before));
    });
    this.port = Number(line.exec(this.output.slice(before))?.[1] ?? this.port);
  }

  /** Another command of the program, to its end, with the same variables and these besides. */
  async run(
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<Exit & { text: string }> {
    const child = this.#process(args, env);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
    }
    const late = setTimeout(() => child.kill('SIGKILL'), commandMs);
    const exit = await endOf(child);
    clearTimeout(late);
    return { ...exit, text };
  }

  #process(args: readonly string[], env: Record<string, string>, served?: readonly string[]) {
    const own = Object.entries(process.env).filter(
      ([name]) => !/^(GANGWAY_|NODE_TEST|NODE_OPTIONS)/.test(name),
    );
    const [program = '', ...rest] = served ?? [
      ...this.#command,
      join(this.checkout, 'src', 'main.ts'),
      ...args,
    ];
    return spawn(program, rest, {
      cwd: this.checkout,
      detached: served !== undefined,
      env: {
        ...Object.fromEntries(own),
        GANGWAY_HOST: '127.0.0.1',
        GANGWAY_PORT: String(this.port),
        GANGWAY_EDGE_PORT: String(this.edgePort),
        GANGWAY_DATA_DIR: this.dataDir,
        GANGWAY_APP_DRAIN_SECONDS: '1',
        // A daemon of the machine is not the tests'.
        GANGWAY_RUNTIME: 'process',
        ...(threads !== undefined && { GANGWAY_GATEWAY_THREADS: threads }),
        ...this.#env,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Ends the service without a word of warning; runner and apps live on. */
  async kill9(): Promise<void> {
    signal(this.pid, 'SIGKILL');
    await this.#exit;
  }

  async restart(): Promise<void> {
    await this.kill9();
    await this.start();
  }

  /** Ends the service as an operator does; runner and apps live on. Rejects when it ends too late. */
  async stop(): Promise<Exit> {
    const { pid } = this;
    const late = setTimeout(() => signal(pid, 'SIGKILL'), stopMs);
    signal(pid, 'SIGTERM');
    const exit = await this.#exit;
    clearTimeout(late);
    if (exit.signal !== 'SIGKILL') return exit;
    throw new Error(`It did not end when told to: ${this.output.slice(-2000)}`);
  }

  /** Its end, whoever brings it about. */
  ended(): Promise<Exit> {
    return this.#exit;
  }

  /** Ends the runner without a word of warning. */
  async killRunner(): Promise<void> {
    const runner = runnerOf(this.dataDir);
    assert.ok(runner, 'there is a runner');
    signal(runner.pid, 'SIGKILL');
    await until('the runner is gone', endMs, () => !isAlive(runner.pid));
  }

  /** Lines of its own log with this event, as far as they have come whole. */
  logged(event: string): Record<string, unknown>[] {
    const lines = this.output.split('\n').slice(0, -1);
    return lines.flatMap((line) => {
      if (!line.includes(`"msg":"${event}"`)) return [];
      return [JSON.parse(line) as Record<string, unknown>];
    });
  }

  /** Ends everything and removes the data; rejects when something is left, or went wrong inside. */
  async end(): Promise<void> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await this.stop();
    const runner = runnerOf(this.dataDir);
    if (runner !== undefined) signal(runner.pid, 'SIGTERM');
    try {
      await until('nothing of it runs', endMs, () => processesOf(this.dataDir).length === 0);
    } catch (error) {
      const left = processesOf(this.dataDir);
      for (const { pid } of left) signal(pid, 'SIGKILL');
      throw new Error(`left behind: ${left.map(({ command }) => command).join('; ')}`, {
        cause: error,
      });
    } finally {
      process.off('exit', this.#onExit);
      if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    }
    this.assertSound();
  }

  /** No bug showed in its log: nothing was answered with 500, no actor crashed, nothing ended it. */
  assertSound(): void {
    const bad =
      /"level":60|"msg":"(request\.failed|gateway\.bug|actor_crashed|deployment_broke|deploy_stuck|log_lost|exception_not_caught|rejection_not_handled)"|^gangway: |uncaught|Unhandled|uWS: /;
    const lines = this.output.split('\n').filter((line) => bad.test(line));
    const bugs = lines.filter((line) => this.#provoked?.test(line) !== true);
    assert.deepEqual(bugs, []);
  }

  /** A client that is nobody so far. */
  stranger(): Client {
    return new Client(this);
  }

  /** One more client with the owner's cookie of its own. */
  async signIn(): Promise<Client> {
    const client = new Client(this);
    await client.must(
      'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { viewer { id } } }',
      owner,
    );
    return client;
  }
}

function endOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('close', (code, name) => {
      resolve({ code, signal: name });
    });
  });
}

/**
 * Owns one workload from its first start to its end: its process, its output, its restarts.
 *
 * 1. What is asked of it is on disk before it is done, so that the next runner knows.
 * 2. No second process starts before all of the first are gone.
 * 3. It counts as ended when its last log entry is in the spool.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import fs from 'node:fs';
import type { Readable } from 'node:stream';

import type { Exit, Workload as WorkloadView, WorkloadState } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { endPolitely, killAll } from './ending.ts';
import type { Output } from './output.ts';
import { markVariable, readProcess } from './processes.ts';
import type { Membership } from './processes.ts';
import type { WorkloadRecord } from './records.ts';

export interface Backoff {
  firstMs: number;
  maxMs: number;
  /** A run this long counts as good: the next restart comes after `firstMs` again. */
  goodRunMs: number;
}

export interface WorkloadParts {
  record: WorkloadRecord;
  /** Value of the mark in the environment of all its processes. */
  mark: string;
  /** Whether the record is one of an earlier runner, whose processes may live. */
  recovered: boolean;
  output: Output;
  backoff: Backoff;
  clock: Clock;
  logger: Logger;
  save: (record: WorkloadRecord, durable: boolean) => void;
  changed: (workload: Workload) => void;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;
/** Why it is being ended: `release` leaves it to the next runner. */
type EndReason = 'stopped' | 'deadline' | 'release';

/** How long pipes may stay open when every process of the workload is gone. */
const pipesCloseMs = 5000;

export class Workload {
  readonly #parts: WorkloadParts;
  readonly #record: WorkloadRecord;
  readonly #ending = new AbortController();
  #state: WorkloadState;
  #endReason: EndReason | undefined;
  #life: Promise<void>;
  #shortRuns = 0;

  /** Goes on with what the record says: a new one starts, one of a dead runner is found and ended. */
  constructor(parts: WorkloadParts) {
    this.#parts = parts;
    this.#record = parts.record;
    const { exit, restarts } = parts.record;
    if (exit) {
      this.#state = { phase: 'ended', exit };
      this.#life = Promise.resolve();
      parts.output.end();
      return;
    }
    const now = parts.clock.now();
    this.#state = parts.recovered
      ? { phase: 'waiting', restarts, nextStartAtMs: now, lastExit: this.#lost() }
      : { phase: 'running', startedAtMs: now, restarts };
    this.#life = this.#live().catch((error: unknown) => {
      parts.logger.error({ err: error, workload: this.id }, 'workload-failed');
      this.#conclude(failedToStart(error, now));
    });
  }

  get id(): string {
    return this.#record.spec.id;
  }

  get output(): Output {
    return this.#parts.output;
  }

  get membership(): Membership {
    return { mark: this.#parts.mark, first: this.#record.first };
  }

  get port(): number | null {
    return this.#record.spec.port;
  }

  get active(): boolean {
    return this.#state.phase !== 'ended';
  }

  view(): WorkloadView {
    const { id, appId, kind, port } = this.#record.spec;
    return { spec: { id, appId, kind, port }, state: this.#state };
  }

  /** Resolves when all its processes are gone and its log is whole. */
  async stop(): Promise<void> {
    if (!this.active) return;
    if (this.#record.want === 'run') {
      this.#record.want = 'stop';
      this.#save(true);
    }
    this.#end('stopped');
    await this.#life;
  }

  /** Ends its processes but keeps on record that it is to run. */
  async release(): Promise<void> {
    this.#end('release');
    await this.#life;
  }

  #end(reason: EndReason): void {
    this.#endReason ??= reason;
    this.#ending.abort();
  }

  async #live(): Promise<void> {
    const { spec } = this.#record;
    if (this.#parts.recovered) {
      await killAll(this.membership, this.#parts.clock);
      this.#record.first = null;
      if (this.#record.want === 'stop') {
        this.#conclude({ ...this.#lost(), reason: 'stopped' });
        return;
      }
      if (spec.kind === 'job') {
        this.#conclude(this.#lost());
        return;
      }
      this.#record.restarts++;
    }
    while (!this.#ending.signal.aborted) {
      const exit = await this.#runOnce();
      if (this.#finish(exit)) return;
      await this.#waitForRestart(exit);
    }
    if (this.#endReason !== 'release') this.#conclude({ ...this.#lastExit(), reason: 'stopped' });
  }

  /** Whether this exit was the last. */
  #finish(exit: Exit): boolean {
    if (this.#endReason === 'release') return true;
    if (this.#endReason !== undefined) {
      this.#conclude({ ...exit, reason: this.#endReason });
      return true;
    }
    // What could not start even once will not start by trying again.
    const neverStarted = exit.reason === 'failed_to_start' && this.#record.restarts === 0;
    if (this.#record.spec.kind === 'job' || neverStarted) {
      this.#conclude(exit);
      return true;
    }
    return false;
  }

  async #runOnce(): Promise<Exit> {
    const { clock, output } = this.#parts;
    const { spec } = this.#record;
    const startedAtMs = clock.now();
    this.#record.startedAtMs = startedAtMs;
    const child = this.#spawn();
    const exited = exitOf(child, clock, spec.workingDir);
    const piped = [output.attach(child.stdout, 'stdout'), output.attach(child.stderr, 'stderr')];
    if (child.pid === undefined) return exited;
    this.#record.first = { pid: child.pid, startTicks: readProcess(child.pid)?.startTicks ?? 0 };
    this.#save(false);
    this.#change({ phase: 'running', startedAtMs, restarts: this.#record.restarts });
    const cancelDeadline =
      spec.deadlineMs === null
        ? undefined
        : clock.after(spec.deadlineMs, () => {
            this.#end('deadline');
          });
    const ended = this.#endWhenAsked();
    const exit = await exited;
    cancelDeadline?.();
    // What the first process left behind would hold the port and the pipes.
    if (this.#ending.signal.aborted) await ended;
    else await killAll(this.membership, clock);
    this.#record.first = null; // Its number may be given to another process from now on.
    await this.#pipesClosed(child, piped);
    const short = clock.now() - startedAtMs < this.#parts.backoff.goodRunMs;
    this.#shortRuns = short ? this.#shortRuns + 1 : 0;
    return exit;
  }

  #spawn(): Child {
    const { spec } = this.#record;
    const [program = '', ...args] = spec.command;
    return spawn(program, args, {
      cwd: spec.workingDir,
      env: { ...spec.env, [markVariable]: this.#parts.mark },
      // Its own session: no signal meant for this program reaches it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(spec.uid !== null && { uid: spec.uid, gid: spec.uid }),
    });
  }

  async #endWhenAsked(): Promise<void> {
    await aborted(this.#ending.signal);
    await endPolitely(this.membership, this.#record.spec.stopGraceMs, this.#parts.clock);
  }

  async #pipesClosed(child: Child, piped: readonly Promise<void>[]): Promise<void> {
    this.#parts.output.drain();
    const cancel = this.#parts.clock.after(pipesCloseMs, () => {
      // Only a process outside the workload can hold them now; it loses them.
      child.stdout.destroy();
      child.stderr.destroy();
    });
    await Promise.all(piped);
    cancel();
  }

  async #waitForRestart(lastExit: Exit): Promise<void> {
    const { backoff, clock } = this.#parts;
    const delayMs = Math.min(
      backoff.firstMs * 2 ** Math.max(this.#shortRuns - 1, 0),
      backoff.maxMs,
    );
    const { restarts } = this.#record;
    this.#save(false);
    this.#change({
      phase: 'waiting',
      restarts,
      nextStartAtMs: clock.now() + delayMs,
      lastExit,
    });
    let cancel = (): void => undefined;
    const due = new Promise<void>((resolve) => {
      cancel = clock.after(delayMs, resolve);
    });
    await Promise.race([due, aborted(this.#ending.signal)]);
    cancel();
    if (!this.#ending.signal.aborted) this.#record.restarts++;
  }

  #lastExit(): Exit {
    const atMs = this.#parts.clock.now();
    if (this.#state.phase === 'waiting') return { ...this.#state.lastExit, atMs };
    return { code: null, signal: null, reason: 'stopped', detail: null, atMs };
  }

  #lost(): Exit {
    const atMs = this.#parts.clock.now();
    const detail = 'The runner ended while this ran.';
    return { code: null, signal: null, reason: 'lost', detail, atMs };
  }

  #conclude(exit: Exit): void {
    this.#record.exit = exit;
    this.#save(true);
    this.#parts.output.end();
    this.#change({ phase: 'ended', exit });
  }

  #change(state: WorkloadState): void {
    this.#state = state;
    this.#parts.changed(this);
  }

  #save(durable: boolean): void {
    try {
      this.#parts.save(this.#record, durable);
    } catch (error) {
      // A full disk must not end what runs; the record of before still tells of the workload.
      this.#parts.logger.error({ err: error, workload: this.id }, 'workload-record-not-saved');
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else {
      signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
    }
  });
}

function exitOf(child: Child, clock: Clock, workingDir: string): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve({ code, signal, reason: 'exited', detail: null, atMs: clock.now() });
    });
    child.on('error', (error) => {
      // Also told when a signal could not be sent; only without a pid did nothing start.
      if (child.pid === undefined) resolve(failedToStart(error, clock.now(), workingDir));
    });
  });
}

function failedToStart(error: unknown, atMs: number, workingDir?: string): Exit {
  const detail = describeStartFailure(error, workingDir);
  return { code: null, signal: null, reason: 'failed_to_start', detail, atMs };
}

function describeStartFailure(error: unknown, workingDir: string | undefined): string {
  const { code, path: program } = error as NodeJS.ErrnoException;
  const name = program ?? 'the program';
  if (code === 'ENOENT' && workingDir !== undefined && !fs.existsSync(workingDir)) {
    return `Cannot start ${name}: its working folder does not exist.`;
  }
  switch (code) {
    case 'ENOENT':
      return `Cannot start ${name}: there is no such program.`;
    case 'EACCES':
      return `Cannot start ${name}: it is not executable, or its folder is not accessible.`;
    case 'ENOEXEC':
      return `Cannot start ${name}: its format is not executable here.`;
    case 'E2BIG':
      return `Cannot start ${name}: its arguments and variables are too large.`;
    case 'EAGAIN':
    case 'ENOMEM':
      return `Cannot start ${name}: the machine has no room for another process.`;
    case 'EPERM':
      return `Cannot start ${name}: not allowed to run as this user.`;
    default:
      return `Cannot start ${name}: ${code ?? (error instanceof Error ? error.message : 'unknown')}.`;
  }
}

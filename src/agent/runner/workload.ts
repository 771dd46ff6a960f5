/**
 * Owns one workload from its first start to its end: its process, its output, its restarts.
 *
 * 1. What is asked of it is on disk before it is done, so that the next runner knows.
 * 2. No second process starts before all of the first are gone.
 * 3. It counts as ended when its last log entry is in the spool.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import type { Socket } from 'node:net';

import type { Exit, Workload as WorkloadView, WorkloadState } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { endPolitely, killAll } from './ending.ts';
import type { Output } from './output.ts';
import { makePipes } from './pipes.ts';
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
  /** A folder of its own. */
  dir: string;
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

/** Why it is being ended: `release` leaves it to the next runner. */
type EndReason = 'stopped' | 'deadline' | 'release';

/** How long pipes may stay open when every process of the workload is gone. */
const pipesCloseMs = 5000;

export class Workload {
  readonly #parts: WorkloadParts;
  readonly #record: WorkloadRecord;
  #state: WorkloadState;
  #endReason: EndReason | undefined;
  /** Tells whatever waits in the workload's life that it is to end; there is one at a time. */
  #tellEnd: () => void = () => undefined;
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
    const { id, owner, kind, port } = this.#record.spec;
    return { spec: { id, owner, kind, port }, state: this.#state };
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
    this.#tellEnd();
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
    while (this.#endReason === undefined) {
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
    const { child, stdout, stderr } = this.#spawn();
    const exited = exitOf(child, clock, spec.workingDir);
    const piped = Promise.all([output.attach(stdout, 'stdout'), output.attach(stderr, 'stderr')]);
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
    const ended = new Promise<void>((resolve) => {
      this.#tellEnd = () => {
        resolve(endPolitely(this.membership, spec.stopGraceMs, clock));
      };
    });
    const exit = await exited;
    cancelDeadline?.();
    // What the first process left behind would hold the port and the pipes.
    if (this.#isEnding()) await ended;
    else await killAll(this.membership, clock);
    this.#record.first = null; // Its number may be given to another process from now on.
    output.drain();
    const cancelWait = clock.after(pipesCloseMs, () => {
      // Only a process outside the workload can hold them now; it loses them.
      stdout.destroy();
      stderr.destroy();
    });
    await piped;
    cancelWait();
    const short = clock.now() - startedAtMs < this.#parts.backoff.goodRunMs;
    this.#shortRuns = short ? this.#shortRuns + 1 : 0;
    return exit;
  }

  #spawn(): { child: ChildProcess; stdout: Socket; stderr: Socket } {
    const { spec } = this.#record;
    const [program = '', ...args] = spec.command;
    const { stdout, stderr } = makePipes(this.#parts.dir, ['stdout', 'stderr']);
    try {
      const child = spawn(program, args, {
        cwd: spec.workingDir,
        env: { ...spec.env, [markVariable]: this.#parts.mark },
        // Its own session: no signal meant for this program reaches it.
        detached: true,
        stdio: ['ignore', stdout.writerFd, stderr.writerFd],
        ...(spec.uid !== null && { uid: spec.uid, gid: spec.uid }),
      });
      return { child, stdout: stdout.reader, stderr: stderr.reader };
    } catch (error) {
      stdout.reader.destroy();
      stderr.reader.destroy();
      throw error;
    } finally {
      fs.closeSync(stdout.writerFd);
      fs.closeSync(stderr.writerFd);
    }
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
    await new Promise<void>((resolve) => {
      const cancel = clock.after(delayMs, resolve);
      this.#tellEnd = () => {
        cancel();
        resolve();
      };
    });
    if (!this.#isEnding()) this.#record.restarts++;
  }

  #isEnding(): boolean {
    return this.#endReason !== undefined;
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

function exitOf(child: ChildProcess, clock: Clock, workingDir: string): Promise<Exit> {
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

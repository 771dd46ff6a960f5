/**
 * Owns one start of a workload's program: its pipes, its process, and how that ended.
 *
 * 1. What could not be started says so by its exit, in words for people, whoever tried: the system
 *    here, or the launcher that confines it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

import type { Exit, WorkloadSpec } from '../../protocol/workload.ts';
import type { Clock } from '../../lib/clock.ts';
import { confined, parseLaunch, type ProgramStart } from './limits/launch.ts';
import type { Place } from '../../protocol/terminal-messages.ts';
import { makePipes, type OutputPipe } from './pipes.ts';
import { markVariable } from '../../lib/processes/processes.ts';

export interface ProgramOptions {
  spec: WorkloadSpec;
  /** A folder of the workload's own. */
  dir: string;
  mark: string;
  /** What confines it; null: nothing. */
  place: Place | null;
  /** Called right before it starts; false: it is not to start any more. */
  begin: () => boolean;
  /** Called as soon as its end is seen, before anything else happens. */
  ended: () => void;
  clock: Clock;
}

export interface ProgramProcess {
  /** Undefined when no process was made. */
  pid: number | undefined;
  stdout: Socket;
  stderr: Socket;
  /** Resolves when the program itself runs, or will not; never rejects. */
  launched: Promise<void>;
  /** Never rejects. */
  exited: Promise<Exit>;
}

const statusFd = 3;

/**
 * Undefined when it is not to start any more. Rejects when the system makes no pipes, or cannot take the
 * arguments at all.
 */
export async function startProgram(options: ProgramOptions): Promise<ProgramProcess | undefined> {
  const pipes = await makePipes(options.dir, ['stdout', 'stderr']);
  let started: ProgramProcess | undefined;
  try {
    if (options.begin()) started = startOn(pipes, options);
    return started;
  } finally {
    for (const { reader, writerFd } of [pipes.stdout, pipes.stderr]) {
      fs.closeSync(writerFd);
      if (started === undefined) reader.destroy();
    }
  }
}

function startOn(
  { stdout, stderr }: Record<'stdout' | 'stderr', OutputPipe>,
  options: ProgramOptions,
): ProgramProcess {
  const { spec, mark, place, clock } = options;
  const { command, workingDir, uid } = spec;
  // First in its place, too: only the start of an environment is looked at.
  const env = Object.assign({ [markVariable]: mark }, spec.env, { [markVariable]: mark });
  const start = confined({ command, workingDir, env, uid }, place, [markVariable], statusFd);
  const child = spawnStart(start, place !== null, stdout.writerFd, stderr.writerFd);
  const status = statusOf(child);
  const exited = exitOf(child, options).then(async (exit) => {
    const refused = child.pid === undefined ? undefined : parseLaunch(await status);
    if (refused === undefined) return exit;
    const error = Object.assign(new Error(refused), { code: refused, path: command[0] });
    return failedToStart(error, clock.now(), workingDir);
  });
  const launched = status.then(() => undefined);
  return { pid: child.pid, stdout: stdout.reader, stderr: stderr.reader, launched, exited };
}

function spawnStart(
  { command: [program = '', ...args], workingDir, env, uid }: ProgramStart,
  withStatus: boolean,
  stdout: number,
  stderr: number,
): ChildProcess {
  return spawn(program, args, {
    cwd: workingDir,
    env: { ...env },
    // Its own session: no signal meant for this program reaches it.
    detached: true,
    stdio: ['ignore', stdout, stderr, ...(withStatus ? (['pipe'] as const) : [])],
    ...(uid !== null && { uid, gid: uid }),
  });
}

/** The line that a launcher told; empty without one. What waits for the program may hold the pipe open. */
async function statusOf(child: ChildProcess): Promise<string> {
  const pipe = child.stdio[statusFd] as Readable | null | undefined;
  let told = '';
  try {
    for await (const text of pipe?.setEncoding('latin1') ?? []) {
      told += String(text);
      if (told.endsWith('\n')) break;
    }
  } catch {
    // It ended without a word.
  }
  return told;
}

function exitOf(child: ChildProcess, { spec, ended, clock }: ProgramOptions): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      ended();
      resolve({ code, signal, reason: 'exited', detail: null, atMs: clock.now() });
    });
    child.on('error', (error) => {
      // Also told when a signal could not be sent; only without a pid did nothing start.
      if (child.pid === undefined) resolve(failedToStart(error, clock.now(), spec.workingDir));
    });
  });
}

export function failedToStart(error: unknown, atMs: number, workingDir?: string): Exit {
  const detail = describeStartFailure(error, workingDir);
  return { code: null, signal: null, reason: 'failed_to_start', detail, atMs };
}

const startFailures: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program',
  EACCES: 'it is not executable, or its folder is not accessible',
  ENOEXEC: 'its format is not executable here',
  E2BIG: 'its arguments and variables are too large',
  EAGAIN: 'the machine has no room for another process',
  ENOMEM: 'the machine has no room for another process',
  ENOISOLATION: 'it could not be kept apart from others; the log of the runner says why',
  ENOLIMITS: 'its limits could not be set',
  EPERM: 'not allowed to run as this user',
};

function describeStartFailure(error: unknown, workingDir: string | undefined): string {
  const { code, path: program = 'the program' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && workingDir !== undefined && !fs.existsSync(workingDir)) {
    return `Cannot start ${program}: its working folder does not exist.`;
  }
  const unknown = code ?? (error instanceof Error ? error.message : 'unknown');
  return `Cannot start ${program}: ${startFailures[unknown] ?? unknown}.`;
}

/**
 * Owns one command run in a workload, to its end.
 *
 * 1. It leaves nothing behind: what it started ends with it, when its time is over or when its asker is
 *    gone.
 * 2. What it writes beyond the bound is read and dropped, so that it is not held up for long.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import { constants } from 'node:os';
import type { Socket } from 'node:net';

import type { ExecOutcome, ExecSpec } from '../../protocol/workload.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { killAll } from '../../lib/processes/ending.ts';
import { confined } from './limits/launch.ts';
import type { Part } from './isolation/compartment.ts';
import { makePipes } from './pipes.ts';
import {
  markVariable,
  type Membership,
  readProcess,
  sessionVariable,
} from '../../lib/processes/processes.ts';
import type { Place } from '../../protocol/terminal-messages.ts';
import type { Ground } from './ground.ts';

/** As `timeout` of coreutils says it. */
const timedOutCode = 124;
/** How long its output may stay open when all it started is gone. */
const pipeCloseMs = 2000;

export interface CommandOptions {
  ground: Ground;
  spec: ExecSpec;
  /** Unlike that of any other command. */
  name: string;
  clock: Clock;
  signal: AbortSignal;
}

/** Rejects with BAD_USER_INPUT when there is no such program. */
export async function runCommand(options: CommandOptions): Promise<ExecOutcome> {
  const part = options.ground.part(options.name);
  try {
    return await runIn(part, options);
  } finally {
    part.close();
  }
}

async function runIn(
  { place, group, within }: Part,
  options: CommandOptions,
): Promise<ExecOutcome> {
  const { ground, spec, clock, name, signal } = options;
  const mark = `${ground.mark}/${name}`;
  const { uid, waits } = ground;
  const variable = sessionVariable;
  const membership: Membership = { variable, mark, first: null, waits, uid, group, within };
  const { child, output } = await start(options, mark, place);
  const chunks: Buffer[] = [];
  let room = spec.maxBytes;
  let truncated = false;
  output.on('data', (chunk: Buffer) => {
    truncated ||= chunk.length > room;
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= Math.min(room, chunk.length);
    // One chunk in a turn of the loop: it may write without end.
    output.pause();
    setImmediate(() => output.resume());
  });
  output.on('error', () => undefined); // 'close' follows.
  const closed = new Promise((resolve) => output.once('close', resolve));
  const over = new AbortController();
  const end = (): void => {
    over.abort();
    killAll(membership, clock).catch(() => undefined); // Done again below, which tells.
  };
  const cancelTimeout = clock.after(spec.timeoutMs, end);
  signal.addEventListener('abort', end, { once: true });
  try {
    const exit = exitOf(child);
    if (child.pid !== undefined) {
      membership.first = { pid: child.pid, startTicks: readProcess(child.pid)?.startTicks ?? 0 };
      if (signal.aborted) end();
    }
    const exitCode = await exit;
    await killAll(membership, clock);
    const cancelWait = clock.after(pipeCloseMs, () => output.destroy());
    await closed;
    cancelWait();
    return {
      output: Buffer.concat(chunks),
      exitCode: over.signal.aborted ? timedOutCode : exitCode,
      truncated,
    };
  } finally {
    cancelTimeout();
    signal.removeEventListener('abort', end);
    output.destroy();
  }
}

async function start(
  { ground, spec, name }: CommandOptions,
  mark: string,
  place: Place | null,
): Promise<{ child: ChildProcess; output: Socket }> {
  // One pipe for both, so that they come out as they were written.
  const { [name]: pipe } = await makePipes(ground.dir, [name]);
  if (pipe === undefined) throw new Error('Cannot run a command: there is no pipe');
  const marks = { [markVariable]: ground.mark, [sessionVariable]: mark };
  const start = {
    command: spec.command,
    workingDir: ground.workingDir,
    env: { ...marks, ...ground.env, ...spec.env, ...marks },
    uid: ground.uid,
  };
  const { command, workingDir, env, uid } = confined(start, place, Object.keys(marks));
  const [program = '', ...args] = command;
  try {
    const child = spawn(program, args, {
      cwd: workingDir,
      env: { ...env },
      detached: true,
      stdio: ['ignore', pipe.writerFd, pipe.writerFd],
      ...(uid !== null && { uid, gid: uid }),
    });
    return { child, output: pipe.reader };
  } catch (error) {
    pipe.reader.destroy();
    throw error;
  } finally {
    fs.closeSync(pipe.writerFd);
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
    child.once('error', (error) => {
      if (child.pid !== undefined) return; // A signal that could not be sent.
      reject(new ServiceError('BAD_USER_INPUT', 'There is no such program.', { cause: error }));
    });
  });
}

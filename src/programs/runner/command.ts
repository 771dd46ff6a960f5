/**
 * Owns one command run in a workload, to its end.
 *
 * 1. It leaves nothing behind: what it started ends with it, when its time is over or when its asker is
 *    gone.
 * 2. What it writes beyond the bound is read and dropped, so that it is not held up for long.
 */
import fs from 'node:fs';
import type { Socket } from 'node:net';

import type { ExecOutcome, ExecSpec } from '../../protocol/workload.ts';
import type { Clock } from '../../lib/clock.ts';
import { killAll } from '../../lib/processes/ending.ts';
import { type Beside, startBeside } from './beside.ts';
import type { Part } from './isolation/compartment.ts';
import { makePipes } from './pipes.ts';
import type { Ground } from './ground.ts';

/** As `timeout` of coreutils says it. */
const timedOutCode = 124;
/** How long its output may stay open when all it started is gone. */
export const pipeCloseMs = 2000;

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

async function runIn(part: Part, options: CommandOptions): Promise<ExecOutcome> {
  const { spec, clock, signal } = options;
  const { membership, exit, output } = await start(part, options);
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
    if (signal.aborted) end();
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
  part: Part,
  { ground, spec, name }: CommandOptions,
): Promise<Beside & { output: Socket }> {
  // One pipe for both, so that they come out as they were written.
  const { [name]: pipe } = await makePipes(ground.dir, [name]);
  if (pipe === undefined) throw new Error('Cannot run a command: there is no pipe');
  const { command, env } = spec;
  const stdio = ['ignore', pipe.writerFd, pipe.writerFd] as const;
  try {
    const beside = startBeside({ ground, name, part, command, env, stdio: [...stdio] });
    return { ...beside, output: pipe.reader };
  } catch (error) {
    pipe.reader.destroy();
    throw error;
  } finally {
    fs.closeSync(pipe.writerFd);
  }
}

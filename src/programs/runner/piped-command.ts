/**
 * Owns a program beside a workload's own whose standard streams are pipes of ours.
 *
 * 1. It leaves nothing behind: what it started ends with it, or when its asker is gone.
 * 2. Nothing is read from it ahead: while its output is not taken, it waits.
 */
import fs from 'node:fs';
import type { Socket } from 'node:net';

import type { PipeEnd, PipeSpec } from '../../protocol/workload.ts';
import type { Clock } from '../../lib/clock.ts';
import { killAll } from '../../lib/processes/ending.ts';
import { type Beside, startBeside } from './beside.ts';
import { pipeCloseMs } from './command.ts';
import type { Ground } from './ground.ts';
import type { Part } from './isolation/compartment.ts';
import { type InputPipe, makeInputPipe, makePipes } from './pipes.ts';

/** How much of what it says on stderr is kept. */
const complaintMaxBytes = 4096;

export interface PipedOptions {
  ground: Ground;
  spec: PipeSpec;
  hasInput: boolean;
  /** Unlike that of any other command. */
  name: string;
  clock: Clock;
  /** Ends it. */
  signal: AbortSignal;
}

export interface PipedCommand {
  /** Null: its input was at its end from the start. */
  input: Socket | null;
  /** To be read to its end. */
  output: Socket;
  /** Resolves behind the end of `output`. Rejects with BAD_USER_INPUT: there is no such program. */
  ended: Promise<PipeEnd>;
}

type Piped = Beside & { input: Socket | null; output: Socket; errors: Socket };

/** Rejects with NOT_RUNNING, or when the system makes no pipes. */
export async function startPiped(options: PipedOptions): Promise<PipedCommand> {
  const part = options.ground.part(options.name);
  try {
    const piped = await start(part, options);
    const ended = awaitEnd(piped, options).finally(() => part.close());
    ended.catch(() => undefined); // Its asker may be gone.
    return { input: piped.input, output: piped.output, ended };
  } catch (error) {
    part.close();
    throw error;
  }
}

async function start(part: Part, { ground, spec, name, hasInput }: PipedOptions): Promise<Piped> {
  const names = { output: `${name}-out`, errors: `${name}-err` };
  const made = await makePipes(ground.dir, Object.values(names));
  const { [names.output]: output, [names.errors]: errors } = made;
  if (output === undefined || errors === undefined) throw new Error('Cannot pipe: no pipes');
  let input: InputPipe | null = null;
  try {
    input = hasInput ? await makeInputPipe(ground.dir, `${name}-in`) : null;
    const stdio = [input?.readerFd ?? 'ignore', output.writerFd, errors.writerFd] as const;
    const beside = startBeside({ ...spec, ground, name, part, stdio: [...stdio] });
    return {
      ...beside,
      input: input?.writer ?? null,
      output: output.reader,
      errors: errors.reader,
    };
  } catch (error) {
    for (const one of [input?.writer, output.reader, errors.reader]) one?.destroy();
    throw error;
  } finally {
    for (const fd of [input?.readerFd, output.writerFd, errors.writerFd]) {
      if (fd !== undefined) fs.closeSync(fd);
    }
  }
}

async function awaitEnd(piped: Piped, { clock, signal }: PipedOptions): Promise<PipeEnd> {
  const { membership, exit, input, output, errors } = piped;
  const complaint = tailOf(errors);
  const closed = Promise.all([closeOf(output), closeOf(errors)]);
  const end = (): void => {
    killAll(membership, clock).catch(() => undefined); // Done again below, which tells.
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    if (signal.aborted) end();
    const exitCode = await exit;
    await killAll(membership, clock);
    input?.destroy();
    for (const one of [output, errors]) closeWhenSilent(one);
    const drop = (): unknown => output.destroy();
    signal.addEventListener('abort', drop, { once: true });
    if (signal.aborted) drop();
    await closed;
    return { exitCode, complaint: complaint() };
  } finally {
    signal.removeEventListener('abort', end);
    for (const one of [input, output, errors]) one?.destroy();
  }
}

/** What still holds a pipe open is none of its processes. What lies in the pipe may be taken slowly. */
function closeWhenSilent(pipe: Socket): void {
  pipe.setTimeout(pipeCloseMs);
  pipe.on('timeout', () => {
    if (pipe.isPaused()) pipe.setTimeout(pipeCloseMs);
    else pipe.destroy();
  });
}

function closeOf(pipe: Socket): Promise<unknown> {
  pipe.on('error', () => undefined); // 'close' follows.
  return new Promise((resolve) => pipe.once('close', resolve));
}

function tailOf(errors: Socket): () => string {
  let tail: Buffer = Buffer.alloc(0);
  errors.on('data', (chunk: Buffer) => {
    tail = Buffer.from(Buffer.concat([tail, chunk]).subarray(-complaintMaxBytes));
    // One chunk in a turn of the loop: it may write without end.
    errors.pause();
    setImmediate(() => errors.resume());
  });
  return () => tail.toString('utf8');
}

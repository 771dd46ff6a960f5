/**
 * Owns a connection that carries the streams of one program, at its end in the runner.
 *
 * 1. The connection is always read, so that its end is seen at once. What it may send ahead of the program is
 *    bounded by the window; who sends more loses it.
 * 2. A piece of output is read from the program when the one before is out: a peer that does not read stops
 *    the program.
 * 3. Behind the program's end the peer closes the connection. Where it still sends input, a close from here
 *    would take from it what it has not read yet.
 */
import type { Socket } from 'node:net';

import type {
  PipeFrame,
  PipeInput,
  RequestFrame,
  RunnerFrame,
} from '../../protocol/runner-messages.ts';
import { pipeWindowBytes } from '../../protocol/runner-messages.ts';
import { asServiceError, type PlainServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import type { PipedCommand } from './piped-command.ts';
import type { Runner } from './runner.ts';

export interface PipeServing {
  runner: Pick<Runner, 'pipe'>;
  logger: Logger;
}

export async function servePipe(
  socket: Socket,
  { n, workload, spec, hasInput }: Extract<RequestFrame, { op: 'pipe' }>,
  { runner, logger }: PipeServing,
): Promise<void> {
  const send = (frame: PipeFrame | RunnerFrame, written?: () => void): void => {
    if (!socket.destroyed) socket.write(encodeFrame(frame), written);
  };
  const told = (error: unknown): PlainServiceError => {
    if (!(error instanceof ServiceError)) logger.error({ err: error }, 'runner_pipe_failed');
    return asServiceError(error).toPlain();
  };
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  let piped: PipedCommand;
  try {
    piped = await runner.pipe(workload, spec, hasInput, gone.signal);
  } catch (error) {
    send({ re: n, error: told(error) });
    socket.end();
    return;
  }
  send({ re: n, ok: null });
  sendOutput(piped, send);
  takeInput(socket, piped, send, logger);
  try {
    send({ ended: await piped.ended });
  } catch (error) {
    send({ failed: told(error) });
  }
}

type Send = (frame: PipeFrame, written?: () => void) => void;

function sendOutput({ output }: PipedCommand, send: Send): void {
  output.on('data', (chunk: Buffer) => {
    output.pause();
    send({ output: chunk }, () => output.resume());
  });
}

function takeInput(socket: Socket, { input }: PipedCommand, send: Send, logger: Logger): void {
  const decoder = new FrameDecoder();
  input?.on('error', () => undefined); // 'close' follows.
  input?.once('close', () => send({ deaf: true }));
  const take = (bytes: Uint8Array): void => {
    if (input === null || input.destroyed) return;
    if (input.writableLength + bytes.length > pipeWindowBytes) throw new Error('more than asked');
    input.write(bytes, (error) => {
      if (!error) send({ taken: bytes.length });
    });
  };
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const { input: bytes } of decoder.push(chunk) as PipeInput[]) {
        if (bytes === null) input?.end();
        else take(bytes);
      }
    } catch (error) {
      logger.warn({ err: error }, 'runner_pipe_unreadable');
      socket.destroy();
    }
  });
}

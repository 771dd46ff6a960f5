/**
 * Owns the process that holds the PTYs of a runner: started for the first terminal, let go of when the last
 * one has been gone for a while.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import type { HostEvent, HostRequest } from '../../protocol/terminal-messages.ts';

export interface TerminalHostOptions {
  clock: Clock;
  logger: Logger;
  /** How long it is kept for a next terminal. */
  idleMs: number;
  heard: (event: HostEvent) => void;
  /** It ended, and with it all that was on it. */
  lost: () => void;
}

type Running =
  { phase: 'none' } | { phase: 'running'; child: ChildProcess; input: NodeJS.WritableStream };

// Beside this file, as TypeScript or as JavaScript.
const entry = fileURLToPath(
  new URL(`../terminals/main${path.extname(import.meta.url)}`, import.meta.url),
);

export class TerminalHost {
  readonly #options: TerminalHostOptions;
  #state: Running = { phase: 'none' };
  #cancelIdle: (() => void) | undefined;

  constructor(options: TerminalHostOptions) {
    this.#options = options;
  }

  send(request: HostRequest): void {
    this.#cancelIdle?.();
    this.#cancelIdle = undefined;
    this.#running().write(encodeFrame(request));
  }

  /** No terminal is left. */
  rest(): void {
    this.#cancelIdle?.();
    this.#cancelIdle = this.#options.clock.after(this.#options.idleMs, () => this.close());
  }

  close(): void {
    this.#cancelIdle?.();
    const state = this.#state;
    this.#state = { phase: 'none' };
    // It ends with its input.
    if (state.phase === 'running') state.input.end();
  }

  #running(): NodeJS.WritableStream {
    if (this.#state.phase === 'running') return this.#state.input;
    const { logger, heard } = this.#options;
    const child = spawn(process.execPath, [...process.execArgv, entry], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const { stdin: input, stdout } = child;
    this.#state = { phase: 'running', child, input };
    const decoder = new FrameDecoder();
    stdout.on('data', (chunk: Buffer) => {
      for (const event of decoder.push(chunk) as HostEvent[]) heard(event);
    });
    input.on('error', () => undefined); // Its end tells.
    child.once('error', (error) => {
      logger.error({ err: error }, 'terminal_host_not_started');
      this.#gone(child);
    });
    child.once('close', (code, signal) => {
      logger.info({ code, signal }, 'terminal_host_ended');
      this.#gone(child);
    });
    return input;
  }

  #gone(child: ChildProcess): void {
    if (this.#state.phase !== 'running' || this.#state.child !== child) return;
    this.#state = { phase: 'none' };
    this.#options.lost();
  }
}

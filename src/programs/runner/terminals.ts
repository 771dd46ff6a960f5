/**
 * Owns the terminals of a runner: who has which one, and that nothing of one outlives it.
 *
 * 1. `exit` is told once, and nothing after it; by then what ran on the terminal is being ended, however
 *    it left the terminal.
 * 2. So many are open at most, in all and of each tenant; OVERLOADED beyond.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import type { TerminalSpec } from '../../protocol/workload.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { encodeFrame, FrameDecoder } from '../../protocol/message-frames.ts';
import type { HostEvent, HostRequest } from '../../protocol/terminal-messages.ts';
import { endPolitely, killAll } from '../../lib/processes/ending.ts';
import { markVariable, readProcess, sessionVariable } from '../../lib/processes/processes.ts';
import type { FirstProcess, Membership } from '../../lib/processes/processes.ts';
import type { Ground } from './ground.ts';
import type { Part } from './isolation/compartment.ts';
import { Shares } from './shares.ts';

export interface TerminalsOptions {
  clock: Clock;
  logger: Logger;
  /** Default 512. */
  openMax?: number;
}

export interface TerminalSink {
  output(bytes: Uint8Array): void;
  written(count: number): void;
  exit(exit: { code: number | null; lost: boolean }): void;
}

/** How long the host is kept for a next terminal. */
const hostIdleMs = 10_000;
/** Between the hang-up and the end of what ignores it. */
const hangUpMs = 1000;

interface Held {
  id: number;
  workload: string;
  giveBack: () => void;
  membership: Membership;
  /** Forgets where it ran. */
  leave: () => void;
  sink: TerminalSink;
  opened: (result: 'opened' | ServiceError) => void;
  /** Closed while it opens: it is ended as soon as its first process is known. */
  phase: 'opening' | 'open' | 'closed';
}

export class Terminals {
  readonly #options: TerminalsOptions;
  readonly #host: TerminalHost;
  readonly #held = new Map<number, Held>();
  readonly #shares: Shares;
  #lastId = 0;

  constructor(options: TerminalsOptions) {
    this.#options = options;
    this.#shares = new Shares('consoles are open', options.openMax ?? 512);
    const lost = (): void => {
      for (const held of [...this.#held.values()]) this.#lose(held);
    };
    this.#host = new TerminalHost(options, (event) => this.#hear(event), lost);
  }

  /** Resolves with its number. Rejects: OVERLOADED, NOT_RUNNING when it cannot be opened there. */
  async open(ground: Ground, spec: TerminalSpec, sink: TerminalSink): Promise<number> {
    const giveBack = this.#shares.take(ground.tenant);
    const id = ++this.#lastId;
    const name = `terminal-${String(process.pid)}-${String(id)}`;
    const mark = `${ground.mark}/${name}`;
    const { workingDir, uid, waits } = ground;
    const { place, group, within, close } = partOf(ground, name, giveBack);
    const result = new Promise<'opened' | ServiceError>((opened) => {
      const own = { variable: sessionVariable, mark, first: null, uid };
      const membership = { ...own, waits, group, within };
      const ways = { giveBack, leave: close, sink, opened };
      const held = { id, workload: ground.id, membership, ...ways };
      this.#held.set(id, { ...held, phase: 'opening' });
    });
    const { command, cols, rows } = spec;
    const marks = { [markVariable]: ground.mark, [sessionVariable]: mark };
    const env = {
      ...marks,
      LANG: 'C.UTF-8',
      ...ground.env,
      TERM: 'xterm-256color',
      ...spec.env,
      ...marks,
    };
    const start = { command, workingDir, env, uid, place, marks: Object.keys(marks) };
    this.#host.send({ op: 'open', id, spec: { ...start, cols, rows } });
    const outcome = await result;
    if (outcome !== 'opened') throw outcome;
    return id;
  }

  has(id: number): boolean {
    const held = this.#held.get(id);
    return held !== undefined && held.phase !== 'closed';
  }

  tell(request: Extract<HostRequest, { op: 'write' | 'resize' | 'taken' }>): void {
    this.#host.send(request);
  }

  /** Hangs up and ends what ran there; `exit` is told at once. */
  close(id: number): void {
    const held = this.#held.get(id);
    if (held) this.#hangUp(held);
  }

  /** The same for all terminals of a workload that is to end. */
  endOf(workload: string): void {
    for (const held of [...this.#held.values()]) {
      if (held.workload === workload) this.#hangUp(held);
    }
  }

  endAll(): void {
    for (const held of [...this.#held.values()]) this.#hangUp(held);
    this.#host.close();
  }

  #hear(event: HostEvent): void {
    const held = this.#held.get(event.id);
    if (held === undefined) return;
    switch (event.event) {
      case 'opened':
        held.membership.first = firstOf(event.pid);
        if (held.phase === 'closed') {
          this.#endNow(held);
          return;
        }
        held.phase = 'open';
        held.opened('opened');
        return;
      case 'refused':
        this.#options.logger.warn({ detail: event.detail }, 'terminal_refused');
        this.#forget(held);
        held.leave();
        held.opened(new ServiceError('NOT_RUNNING', 'No console could be opened there.'));
        return;
      case 'output':
        held.sink.output(event.bytes);
        return;
      case 'written':
        held.sink.written(event.count);
        return;
      case 'left':
        this.#endLeftovers(held, 0);
        return;
      case 'exit':
        this.#forget(held);
        held.sink.exit({ code: event.code, lost: false });
    }
  }

  #hangUp(held: Held): void {
    if (held.phase === 'closed') return;
    const { phase } = held;
    held.phase = 'closed';
    if (phase === 'open') this.#endNow(held);
    held.opened(new ServiceError('NOT_RUNNING', 'It ended before a console was open.'));
    held.sink.exit({ code: 128 + constants.signals.SIGHUP, lost: false });
  }

  #endNow(held: Held): void {
    this.#host.send({ op: 'close', id: held.id });
    this.#forget(held);
    this.#endLeftovers(held, hangUpMs);
  }

  #lose(held: Held): void {
    this.#forget(held);
    this.#endLeftovers(held, 0);
    if (held.phase === 'closed') return;
    held.opened(new ServiceError('AGENT_UNREACHABLE', 'The process runner lost its terminals.'));
    held.sink.exit({ code: null, lost: true });
  }

  #forget(held: Held): void {
    this.#held.delete(held.id);
    held.giveBack();
    if (this.#held.size === 0) this.#host.rest();
  }

  #endLeftovers({ membership, leave }: Held, graceMs: number): void {
    const { clock, logger } = this.#options;
    const ended =
      graceMs === 0 ? killAll(membership, clock) : endPolitely(membership, graceMs, clock);
    ended.then(leave).catch((error: unknown) => logger.error({ err: error }, 'terminal_not_ended'));
  }
}

function partOf(ground: Ground, name: string, giveBack: () => void): Part {
  try {
    return ground.part(name);
  } catch (error) {
    giveBack();
    throw error;
  }
}

function firstOf(pid: number): FirstProcess {
  return { pid, startTicks: readProcess(pid)?.startTicks ?? 0 };
}

type Running =
  { phase: 'none' } | { phase: 'running'; child: ChildProcess; input: NodeJS.WritableStream };

// Beside this file, as TypeScript or as JavaScript.
const entry = fileURLToPath(
  new URL(`../terminals/main${path.extname(import.meta.url)}`, import.meta.url),
);

/**
 * The process that holds the PTYs: started for the first terminal, let go of when the last one has been
 * gone for a while.
 */
class TerminalHost {
  readonly #options: TerminalsOptions;
  readonly #heard: (event: HostEvent) => void;
  /** It ended, and with it all that was on it. */
  readonly #lost: () => void;
  #state: Running = { phase: 'none' };
  #cancelIdle: (() => void) | undefined;

  constructor(options: TerminalsOptions, heard: (event: HostEvent) => void, lost: () => void) {
    this.#options = options;
    this.#heard = heard;
    this.#lost = lost;
  }

  send(request: HostRequest): void {
    this.#cancelIdle?.();
    this.#cancelIdle = undefined;
    this.#running().write(encodeFrame(request));
  }

  /** No terminal is left. */
  rest(): void {
    this.#cancelIdle?.();
    this.#cancelIdle = this.#options.clock.after(hostIdleMs, () => this.close());
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
    const { logger } = this.#options;
    const child = spawn(process.execPath, [...process.execArgv, entry], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const { stdin: input, stdout } = child;
    this.#state = { phase: 'running', child, input };
    const decoder = new FrameDecoder();
    stdout.on('data', (chunk: Buffer) => {
      try {
        for (const event of decoder.push(chunk) as HostEvent[]) this.#heard(event);
      } catch (error) {
        logger.error({ err: error }, 'terminal_host_unreadable');
        child.kill('SIGKILL'); // Its end tells.
      }
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
    this.#lost();
  }
}

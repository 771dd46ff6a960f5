/**
 * Owns the terminals of one connection to a runner, by the numbers its client gave them. They end with the
 * connection.
 */
import type { RunnerFrame, RunnerRequest } from '../../protocol/runner-messages.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Runner } from './runner.ts';
import type { RunnerTerminal } from './terminals.ts';

/** What is told without an answer. */
export type TerminalTold = Extract<
  RunnerRequest,
  { op: 'terminal-write' | 'terminal-resize' | 'terminal-taken' | 'terminal-close' }
>;

const told: ReadonlySet<string> = new Set<TerminalTold['op']>([
  'terminal-write',
  'terminal-resize',
  'terminal-taken',
  'terminal-close',
]);

export function isTerminalTold(request: RunnerRequest): request is TerminalTold {
  return told.has(request.op);
}

export class ConnectionTerminals {
  readonly #runner: Runner;
  readonly #send: (frame: RunnerFrame) => void;
  readonly #open = new Map<number, RunnerTerminal>();
  #ended = false;

  constructor(runner: Runner, send: (frame: RunnerFrame) => void) {
    this.#runner = runner;
    this.#send = send;
  }

  async open(request: Extract<RunnerRequest, { op: 'terminal-open' }>): Promise<null> {
    const { workload, terminal, spec } = request;
    if (this.#open.has(terminal)) {
      throw new ServiceError('CONFLICT', 'There is a terminal of this number.');
    }
    const opened = await this.#runner.openTerminal(workload, spec, {
      output: (bytes) => this.#send({ event: 'terminal-output', terminal, bytes }),
      written: (count) => this.#send({ event: 'terminal-written', terminal, count }),
      exit: (exit) => {
        this.#open.delete(terminal);
        this.#send({ event: 'terminal-exit', terminal, ...exit });
      },
    });
    if (this.#ended) this.#runner.closeTerminal(opened);
    // It may have ended at once.
    else if (this.#runner.isOpen(opened)) this.#open.set(terminal, opened);
    return null;
  }

  hear(request: TerminalTold): void {
    const terminal = this.#open.get(request.terminal);
    if (terminal === undefined) return; // It ended meanwhile.
    switch (request.op) {
      case 'terminal-write':
        terminal.write(request.bytes);
        return;
      case 'terminal-resize':
        terminal.resize(request.cols, request.rows);
        return;
      case 'terminal-taken':
        terminal.taken(request.count);
        return;
      case 'terminal-close':
        this.#runner.closeTerminal(terminal);
    }
  }

  /** The connection is gone. */
  end(): void {
    this.#ended = true;
    for (const terminal of [...this.#open.values()]) this.#runner.closeTerminal(terminal);
  }
}

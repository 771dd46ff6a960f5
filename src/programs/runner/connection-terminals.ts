/**
 * Owns the terminals of one connection to a runner, by the numbers its client gave them. They end with the
 * connection.
 */
import type { RunnerFrame, RunnerRequest } from '../../protocol/runner-messages.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Runner } from './runner.ts';

type OpenRequest = Extract<RunnerRequest, { op: 'terminal-open' }>;
/** What is told without an answer. */
export type TerminalTold = Exclude<
  Extract<RunnerRequest, { op: `terminal-${string}` }>,
  OpenRequest
>;

export function isTerminalTold(request: RunnerRequest): request is TerminalTold {
  return request.op.startsWith('terminal-') && request.op !== 'terminal-open';
}

export class ConnectionTerminals {
  readonly #runner: Runner;
  readonly #send: (frame: RunnerFrame) => void;
  /** The runner's numbers by the client's. */
  readonly #open = new Map<number, number>();
  #ended = false;

  constructor(runner: Runner, send: (frame: RunnerFrame) => void) {
    this.#runner = runner;
    this.#send = send;
  }

  async open({ workload, terminal, spec }: OpenRequest): Promise<null> {
    if (this.#open.has(terminal)) {
      throw new ServiceError('CONFLICT', 'There is a terminal of this number.');
    }
    const { terminals } = this.#runner;
    const id = await terminals.open(this.#runner.groundOf(workload), spec, {
      output: (bytes) => this.#send({ event: 'terminal-output', terminal, bytes }),
      written: (count) => this.#send({ event: 'terminal-written', terminal, count }),
      exit: (exit) => {
        this.#open.delete(terminal);
        this.#send({ event: 'terminal-exit', terminal, ...exit });
      },
    });
    if (this.#ended) terminals.close(id);
    // It may have ended at once.
    else if (terminals.has(id)) this.#open.set(terminal, id);
    return null;
  }

  hear(request: TerminalTold): void {
    const id = this.#open.get(request.terminal);
    if (id === undefined) return; // It ended meanwhile.
    const { terminals } = this.#runner;
    switch (request.op) {
      case 'terminal-write':
        terminals.tell({ op: 'write', id, bytes: request.bytes });
        return;
      case 'terminal-resize':
        terminals.tell({ op: 'resize', id, cols: request.cols, rows: request.rows });
        return;
      case 'terminal-taken':
        terminals.tell({ op: 'taken', id, count: request.count });
        return;
      case 'terminal-close':
        terminals.close(id);
    }
  }

  /** The connection is gone. */
  end(): void {
    this.#ended = true;
    for (const id of [...this.#open.values()]) this.#runner.terminals.close(id);
  }
}

/**
 * Owns the connections to the runner of this machine that the control plane has, each over any number of streams: what
 * runs on a terminal, or in a pipe, goes on while the link is cut for a while.
 *
 * 1. One that has no stream for `runnerKeepMs` is closed, and with it all that is the connection's.
 * 2. There are at most `sessionsMax`. More are OVERLOADED.
 */
import { randomBytes } from 'node:crypto';
import type net from 'node:net';
import { type Duplex, pipeline } from 'node:stream';

import { connectToRunner } from '../../drivers/process/local-way.ts';
import { ConnectionLost } from '../../drivers/process/runner-way.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { ResumableDuplex } from '../../lib/resumable-duplex.ts';
import type { Lane } from '../../protocol/agent-link.ts';
import { runnerGreeting, runnerKeepMs, runnerWindowBytes } from '../../protocol/agent-runner.ts';
import { isRecord } from '../../protocol/agent-wire.ts';

export interface RunnerSessionsOptions {
  dataDir: string;
  /** How long one is kept without a stream. */
  keepMs?: number;
}

const sessionsMax = 1_000;

export class RunnerSessions {
  readonly #options: RunnerSessionsOptions;
  readonly #open = new Map<string, ResumableDuplex>();

  constructor(options: RunnerSessionsOptions) {
    this.#options = options;
  }

  /** NOT_FOUND for a session that is not kept, NOT_RUNNING where no runner listens. */
  readonly accept = async (head: unknown, stream: Duplex): Promise<void> => {
    const { session, received, lane } = isRecord(head) ? head : {};
    if (typeof session === 'string') {
      const kept = this.#open.get(session);
      if (kept === undefined || typeof received !== 'number') {
        throw new ServiceError('NOT_FOUND', 'This connection to the runner is not kept.');
      }
      attach(kept, session, stream, received);
      return;
    }
    if (this.#open.size >= sessionsMax) {
      throw new ServiceError('OVERLOADED', 'There are too many connections to this runner.');
    }
    const socket = await this.#connected();
    const id = randomBytes(16).toString('hex');
    attach(this.#join(id, socket, lane === 'bulk' ? 'bulk' : 'control'), id, stream, 0);
  };

  close(): void {
    for (const one of [...this.#open.values()]) one.destroy();
  }

  async #connected(): Promise<net.Socket> {
    try {
      return (await connectToRunner(this.#options.dataDir, null)).stream;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      throw new ServiceError('NOT_RUNNING', 'There is no runner.');
    }
  }

  #join(id: string, socket: net.Socket, lane: Lane): ResumableDuplex {
    const kept = new ResumableDuplex({
      windowBytes: runnerWindowBytes[lane],
      keepMs: this.#options.keepMs ?? runnerKeepMs,
      clock: systemClock,
      broken: () => new ServiceError('AGENT_UNREACHABLE', 'The connection to Gangway is lost.'),
    });
    this.#open.set(id, kept);
    kept.once('close', () => this.#open.delete(id));
    // Whatever ends one side breaks the other: the runner ends what is the connection's.
    pipeline(kept, socket, () => socket.destroy());
    pipeline(socket, kept, () => kept.destroy());
    return kept;
  }
}

function attach(kept: ResumableDuplex, id: string, stream: Duplex, received: number): void {
  stream.write(runnerGreeting(id, kept.received));
  kept.attach(stream, received);
}

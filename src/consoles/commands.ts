/**
 * Owns commands that run to their end in an app or a database, for callers that need no console. They are
 * bounded in time and in output, and in how many a person runs at once.
 */
import type { Driver } from '../drivers/driver.ts';
import { ServiceError } from '../lib/errors.ts';
import { OwnTally } from '../lib/tally.ts';
import type { ConsoleTarget, ConsolePrograms } from './console-door.ts';

export interface CommandOutcome {
  /** Both outputs as they came; bytes that are no UTF-8 are U+FFFD. */
  output: string;
  /** 128 plus the number of the signal that ended it; 124 when its time was over. */
  exitCode: number;
  /** Whether there was more output than is kept. */
  truncated: boolean;
}

export interface WantedCommand {
  userId: string;
  target: ConsoleTarget;
  /** '' for the default. */
  container: string;
  /** A line for the shell, or a statement for a database. */
  line: string;
}

export interface ConsoleCommandsOptions {
  /** Where it runs. */
  driverOf: (target: ConsoleTarget) => Pick<Driver, 'exec'>;
  programs: Pick<ConsolePrograms, 'command'>;
  /** Default 60 s. */
  timeoutMs?: number;
  /** Default 64 KiB. */
  outputBytes?: number;
  /** Default 16. */
  maxPerPerson?: number;
}

/** About as much as the system takes in one argument. */
export const commandBytesMax = 64 * 1024;

export class ConsoleCommands {
  readonly #options: ConsoleCommandsOptions;
  readonly #underWay = new OwnTally();

  constructor(options: ConsoleCommandsOptions) {
    this.#options = options;
  }

  /** Rejects: BAD_USER_INPUT, RATE_LIMITED, NOT_RUNNING, NO_SUCH_CONTAINER, AGENT_UNREACHABLE. */
  async run(wanted: WantedCommand, signal: AbortSignal | null): Promise<CommandOutcome> {
    const { userId, target, container, line } = wanted;
    if (line.trim() === '' || Buffer.byteLength(line) > commandBytesMax || line.includes('\0')) {
      throw new ServiceError(
        'BAD_USER_INPUT',
        'A command has 1 to 65536 bytes, none of them zero.',
      );
    }
    // A mutation may have several commands: the rest need not begin when nobody waits any more.
    if (signal?.aborted === true)
      throw new ServiceError('DEADLINE_EXCEEDED', 'Nobody waits for it.');
    const { driverOf, programs, timeoutMs = 60_000, outputBytes = 64 * 1024 } = this.#options;
    if (this.#underWay.count(userId) >= (this.#options.maxPerPerson ?? 16)) {
      throw new ServiceError('RATE_LIMITED', 'Too many commands of yours are under way.');
    }
    this.#underWay.add(userId);
    try {
      const { workloadId, command, env } = await programs.command(target, container, line);
      const spec = { command, env, timeoutMs, maxBytes: outputBytes };
      const given = signal ?? new AbortController().signal;
      const { output, exitCode, truncated } = await driverOf(target).exec(workloadId, spec, given);
      return { output: new TextDecoder().decode(output), exitCode, truncated };
    } finally {
      this.#underWay.remove(userId);
    }
  }
}

/**
 * Owns the runner of this machine as the control plane has it: the bytes of its socket, its start, and its records.
 *
 * A driver of our own has it started again when it dies while something is to run, also while nobody is connected, and
 * sees to it that it is of this release.
 */
import { createProcessDriver } from '../../drivers/process/process-driver.ts';
import { hasRecords } from '../../drivers/process/runner-process.ts';
import type { Driver } from '../../drivers/driver.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { AgentServices } from '../../protocol/agent-link.ts';
import { runnerCalls } from '../../protocol/agent-runner.ts';
import type { EdgeSettings } from '../../protocol/runner-messages.ts';
import { RunnerSessions } from './runner-sessions.ts';

export interface RunnerServicesOptions {
  dataDir: string;
  edge: EdgeSettings;
  runnerKey: Uint8Array;
  logger: Logger;
}

const launchMs = 20_000;

export class RunnerServices implements AgentServices {
  readonly calls;
  readonly streams;
  readonly driver: Driver;
  readonly #sessions: RunnerSessions;

  constructor({ dataDir, edge, runnerKey, logger }: RunnerServicesOptions) {
    this.driver = createProcessDriver({ dataDir, edge, runnerKey, logger, without: [] });
    this.#sessions = new RunnerSessions({ dataDir });
    this.calls = {
      [runnerCalls.records]: () => Promise.resolve(hasRecords(dataDir)),
      [runnerCalls.launch]: () => this.#launch(),
    };
    this.streams = {
      [runnerCalls.stream]: this.#sessions.accept,
    };
  }

  /** What is to run runs again, also where the control plane is away. */
  async start(): Promise<void> {
    await this.driver.open();
  }

  close(): Promise<void> {
    this.#sessions.close();
    return this.driver.close();
  }

  async #launch(): Promise<null> {
    if (await this.driver.answers(launchMs)) return null;
    throw new ServiceError('AGENT_UNREACHABLE', 'The runner of that server cannot be started.');
  }
}

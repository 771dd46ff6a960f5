/** Owns a data directory with a process driver in it for a test, and the end of its runner. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { Connection, type ConnectionWay } from '../../src/drivers/process/connection.ts';
import { localWay } from '../../src/drivers/process/local-way.ts';
import { createProcessDriver } from '../../src/drivers/process/process-driver.ts';
import type { ProcessDriverOptions } from '../../src/drivers/process/process-driver.ts';
import { ConnectionLost } from '../../src/drivers/process/runner-way.ts';
import type { Driver } from '../../src/drivers/driver.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { HelloAnswer } from '../../src/protocol/runner-messages.ts';
import { runnerProtocol } from '../../src/protocol/runner-version.ts';
import { specOf, until } from './driver-specs.ts';
import { isAlive } from './processes.ts';

const silent = (): void => undefined;
export const noLog: Logger = {
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};

/** What the runners of tests encrypt variables with. */
export const runnerKey = Buffer.alloc(32, 7);

export function tempDir(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-test-'));
}

/** To the runner of a data directory, for a connection of one's own. */
export function connectionWay(dataDir: string): ConnectionWay {
  return localWay({ dataDir, edge: null, logger: noLog, runnerKey, without: [] });
}

/** What a runner says of itself; undefined when there is none. */
export async function runnerHello(dataDir: string): Promise<HelloAnswer | undefined> {
  try {
    const connection = await Connection.open(connectionWay(dataDir), {
      state: silent,
      lost: silent,
    });
    const hello = await connection.request({ op: 'hello', protocol: runnerProtocol });
    connection.close();
    return hello;
  } catch (error) {
    if (error instanceof ConnectionLost) return undefined;
    throw error;
  }
}

export async function runnerPid(dataDir: string): Promise<number | undefined> {
  return (await runnerHello(dataDir))?.pid;
}

export interface ProcessPlace {
  dataDir: string;
  specOf: typeof specOf;
  /** Where Node is for its workloads. */
  node: string;
  /** Names of the variables a program has besides its own. */
  variables: readonly string[];
  driver: Driver;
  open(options?: Partial<ProcessDriverOptions>): Driver;
  reopen(): Promise<Driver>;
  /** Ends the runner as kill -9 does; resolves when it is gone. */
  killRunner(): Promise<void>;
  /** The same; resolves when the driver has another runner and the service runs again, with its restarts. */
  replaceRunner(service: string): Promise<number>;
  close(): Promise<void>;
}

/** The same driver, once it is open. */
export async function ready<D extends Pick<Driver, 'open'>>(driver: D): Promise<D> {
  await driver.open();
  return driver;
}

export function processPlace(options: Partial<ProcessDriverOptions> = {}): ProcessPlace {
  const dataDir = options.dataDir ?? tempDir();
  const open = (more: Partial<ProcessDriverOptions> = {}): Driver =>
    createProcessDriver({
      dataDir,
      edge: null,
      logger: noLog,
      runnerKey,
      without: [],
      ...options,
      ...more,
    });
  const driver = open();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const pid = await runnerPid(dataDir);
    if (pid === undefined) return;
    process.kill(pid, signal);
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  return {
    dataDir,
    specOf,
    node: process.execPath,
    variables: ['GANGWAY_WORKLOAD'],
    driver,
    open,
    reopen: () => ready(open()),
    killRunner: () => end('SIGKILL'),
    async replaceRunner(service) {
      const before = await runnerPid(dataDir);
      await end('SIGKILL');
      await until('another runner', async () => {
        const pid = await runnerPid(dataDir);
        return pid !== undefined && pid !== before;
      });
      return until('the service', async () => {
        const now = (await driver.inspect(service))?.state;
        return now?.phase === 'running' ? now.restarts : undefined;
      });
    },
    async close() {
      await driver.close();
      await end('SIGTERM');
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

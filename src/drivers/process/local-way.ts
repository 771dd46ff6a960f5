/** Owns the way to the runner of this machine: its Unix socket in the data directory, and its start. */
import fs from 'node:fs';
import type net from 'node:net';
import path from 'node:path';

import { connectWithin } from '../../lib/connect.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { IsolationLayer } from '../../protocol/isolation.ts';
import type { EdgeSettings } from '../../protocol/runner-messages.ts';
import { socketAddress } from '../../protocol/runner-socket.ts';
import { runnerSocketDir, runnerSocketName } from '../../protocol/runner-version.ts';
import { agree, configure } from './greeting.ts';
import { reasonAgainstIsolation } from './isolating.ts';
import { hasRecords, startRunner } from './runner-process.ts';
import { ConnectionLost, type RunnerSocket, type RunnerWay } from './runner-way.ts';

export interface LocalWayOptions {
  /** Absolute. */
  dataDir: string;
  /** Where apps are reached; null for a driver without an edge. */
  edge: EdgeSettings | null;
  logger: Logger;
  /** 32 bytes: what the runner encrypts the variables of workloads with on disk. */
  runnerKey: Uint8Array;
  /** Layers of isolation to leave out, in the order of `isolationLayers`. */
  without: readonly IsolationLayer[];
}

const connectMs = 5000;
const chunkBytes = 64 * 1024;

export function localWay(options: LocalWayOptions): RunnerWay {
  const { dataDir, runnerKey: key, without, logger } = options;
  return {
    name: 'process',
    decode: null,
    place: {},
    partsLogs: false,
    errorOf: (told) => ServiceError.fromPlain(told),
    connect: (receive) => connectToRunner(dataDir, receive),
    agree: (connection) => agree(connection, options),
    configure: (connection) => configure(connection, options),
    launch: () => {
      startRunner({ dataDir, key, without });
      logger.info({}, 'runner_started');
      return Promise.resolve();
    },
    hasRecords: () => Promise.resolve(hasRecords(dataDir)),
    mayHaveNetworks: () => reasonAgainstIsolation() === null && !without.includes('network'),
  };
}

/** Throws ConnectionLost when nobody listens. */
export async function connectToRunner(
  dataDir: string,
  receive: ((chunk: Uint8Array) => void) | null,
): Promise<RunnerSocket & { stream: net.Socket }> {
  const dir = path.join(dataDir, runnerSocketDir);
  if (!fs.existsSync(path.join(dir, runnerSocketName))) throw new ConnectionLost();
  const address = socketAddress(dir, runnerSocketName);
  try {
    const onread = receive && lending(receive);
    const stream = await connectWithin(
      { path: address.path, ...(onread && { onread }) },
      connectMs,
    );
    return { stream, hold: (holds) => (holds ? stream.ref() : stream.unref()) };
  } catch (error) {
    throw new ConnectionLost(error);
  } finally {
    address.release();
  }
}

/** One buffer for all: logs of apps would leave as much garbage as they have bytes. */
function lending(receive: (chunk: Uint8Array) => void): net.OnReadOpts {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes);
  return {
    buffer,
    callback: (length: number): boolean => {
      receive(buffer.subarray(0, length));
      return true;
    },
  };
}

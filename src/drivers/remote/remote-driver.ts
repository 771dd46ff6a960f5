/**
 * Owns the driver of another server: the one for child processes, with the link as the way to its runner.
 *
 * 1. While the link is away all requests fail with AGENT_UNREACHABLE at once, and within two seconds while it is not
 *    known yet that it is. What runs there goes on.
 * 2. A link that is cut and comes back within a minute ends nothing: terminals, commands and pipes go on.
 * 3. An agent that stalls a stream makes no connection over it, and one that stalls an answer keeps nobody waiting: the end of a
 *    workload has three minutes, a command its own time and a bit.
 * 4. The other machine may mean harm: what is told of workloads that are of no owner there is dropped, what is none breaks
 *    the connection, and of many states those beyond `statesBurst` in each window wait.
 */
import { ServiceError } from '../../lib/errors.ts';
import { type Clock, pause, systemClock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { RateLimit } from '../../lib/rate-limit.ts';
import type { AgentLink, AgentLinkEvent } from '../../protocol/agent-link.ts';
import { runnerCalls } from '../../protocol/agent-runner.ts';
import { foreignError } from '../../protocol/foreign-error.ts';
import { foreignWorkload } from '../../protocol/foreign-workload.ts';
import { decodePlain } from '../../protocol/plain-cbor.ts';
import { runnerProtocol } from '../../protocol/runner-version.ts';
import type { Driver } from '../driver.ts';
import { sign } from '../process/greeting.ts';
import { RunnerDriver } from '../process/process-driver.ts';
import {
  ConnectionLost,
  type RunnerAsker,
  type RunnerSocket,
  type RunnerWay,
} from '../process/runner-way.ts';
import { openRunnerStream } from './runner-stream.ts';

export interface RemoteDriverOptions {
  link: AgentLink;
  logger: Logger;
  /** Whether an app or database is on this server. */
  isOwn: (owner: string) => boolean;
  clock?: Clock;
  /** Over all attempts of one request. Default 20 s. */
  requestTimeoutMs?: number;
}

export function createRemoteDriver(options: RemoteDriverOptions): Driver {
  return new RunnerDriver({ ...options, way: remoteWay(options) });
}

function remoteWay({ link, clock = systemClock }: RemoteDriverOptions): RunnerWay {
  const states = new RateLimit({ burst: statesBurst, windowMs: statesWindowMs, clock });
  return {
    name: 'remote',
    decode: decodePlain,
    place: { server: link.serverId },
    partsLogs: true,
    errorOf: foreignError,
    workloadOf: foreignWorkload,
    heldBack: () => {
      const waitS = states.take('');
      return waitS === 0 ? null : pause(clock, waitS * 1000);
    },
    connect: (receive) => connect(link, receive, clock),
    agree: (connection) => agree(connection),
    // Its edge is the agent's own.
    configure: () => Promise.resolve(),
    launch: async () => {
      await link.call(runnerCalls.launch, null, { timeoutMs: launchMs });
    },
    hasRecords: async () => (await link.call(runnerCalls.records, null)) === true,
    unlessHeard: (onSilence) => link.unlessHeard(onSilence),
    isAway: () => !link.isConnected,
    onAway: (callback) => on(link, 'disconnected', callback),
    onBack: (callback) => on(link, 'connected', callback),
    mayHaveNetworks: () => true,
  };
}

const launchMs = 30_000;
/** Above what a machine full of apps tells as its runner starts. */
const [statesBurst, statesWindowMs] = [1_000, 10_000];

async function connect(
  link: AgentLink,
  receive: ((chunk: Uint8Array) => void) | null,
  clock: Clock,
): Promise<RunnerSocket> {
  try {
    const stream = await openRunnerStream(link, receive === null ? 'bulk' : 'control', clock);
    if (receive !== null) stream.on('data', receive);
    return { stream };
  } catch (error) {
    const isMissing = error instanceof ServiceError && error.code === 'NOT_RUNNING';
    throw isMissing ? new ConnectionLost(error) : error;
  }
}

function on(link: AgentLink, wanted: AgentLinkEvent['type'], callback: () => void): () => void {
  return link.watch(({ type }) => {
    if (type === wanted) callback();
  });
}

/** It is as its agent wants it. One of another protocol is not ours to end: its apps would go down with it. */
async function agree(connection: RunnerAsker): Promise<void> {
  const { protocol } = await sign(connection);
  if (protocol === runnerProtocol) return;
  throw new ServiceError(
    'AGENT_UNREACHABLE',
    'What runs apps on that server is of another release. Update its agent.',
  );
}

/**
 * Owns another server as a place, over the link to its agent.
 *
 * 1. What the machine is like is asked once for each time that the agent connects.
 * 2. An archive goes there as it is read: neither side holds more of it than a window.
 */
import type { Duplex } from 'node:stream';
import type { Driver } from '../drivers/driver.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import { appUids, databaseUids } from '../lib/processes/program-uids.ts';
import type { AgentLink, ForVisitors, Lane } from '../protocol/agent-link.ts';
import { type ConnectHead, placeCalls, placeStreams, streamMark } from '../protocol/agent-place.ts';
import { factsIn } from './machine-facts.ts';
import type { Machine, Place } from './place.ts';
import { RemoteAppFiles, RemoteDatabaseFiles } from './remote-files.ts';
import { remoteTools } from './remote-tools.ts';
import { firstByte, restOf } from './streamed.ts';

const codeMaxBytes = 40;

export interface RemotePlaceOptions {
  link: AgentLink;
  driver: Driver;
  clock?: Clock;
}

export function remotePlace({ link, driver, clock = systemClock }: RemotePlaceOptions): Place {
  let known: Promise<Machine> | null = null;
  link.watch(({ type }) => {
    if (type !== 'told') known = null;
  });
  const machine = (): Promise<Machine> => {
    const asked = (known ??= askMachine(link, clock));
    asked.catch(() => {
      if (known === asked) known = null;
    });
    return asked;
  };
  return {
    serverId: link.serverId,
    ...{ driver, edge: driver, machine },
    connect: (to, signal, visitorsOf) => {
      const by = visitorsOf === undefined ? 'control' : { visitorsOf };
      return untilThere(signal, (opening) => connect(link, to, { signal: opening, by }));
    },
  };
}

async function askMachine(link: AgentLink, clock: Clock): Promise<Machine> {
  const facts = factsIn(await link.call(placeCalls.machine, null));
  const { appsRoot, hasOwnUids, namedUid, toolchain, buildEnv, path } = facts;
  return {
    ...{ namedUid, toolchain, buildEnv },
    uids: hasOwnUids ? { app: appUids, database: databaseUids } : null,
    tools: remoteTools(link, path),
    app: (owner) => new RemoteAppFiles(link, appsRoot, owner, clock),
    database: (owner) => new RemoteDatabaseFiles(link, appsRoot, owner),
  };
}

/** The link breaks a stream by its signal at any time; that of `Place.connect` is for the connecting alone. */
async function untilThere<T>(
  signal: AbortSignal,
  connecting: (opening: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const opening = new AbortController();
  const giveUp = (): void => opening.abort(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await connecting(opening.signal);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function connect(
  link: AgentLink,
  to: ConnectHead,
  { signal, by }: { signal: AbortSignal; by: Lane | ForVisitors },
): Promise<Duplex> {
  const stream = await link.stream(placeStreams.connect, to, by, signal);
  const mark = await firstByte(stream);
  if (mark === streamMark.there) return stream;
  const code = mark === streamMark.not ? (await restOf(stream, codeMaxBytes)).toString() : '';
  stream.destroy();
  if (code === '') throw new ServiceError('AGENT_UNREACHABLE', 'The connection was cut.');
  throw Object.assign(new Error(`connect ${code}`), { code });
}

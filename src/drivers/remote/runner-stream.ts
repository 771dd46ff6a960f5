/**
 * Owns one connection to the runner of another server, over any number of streams of the link. When one is lost, it goes
 * on over the next, as long as the agent keeps it.
 */
import type { Duplex } from 'node:stream';

import { type Clock, pause, whenLate } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { ResumableDuplex } from '../../lib/resumable-duplex.ts';
import type { AgentLink, Lane } from '../../protocol/agent-link.ts';
import {
  readRunnerGreeting,
  runnerCalls,
  runnerGreetingBytes,
  type RunnerHead,
  runnerKeepMs,
  runnerWindowBytes,
} from '../../protocol/agent-runner.ts';

const [retryMs, greetingMs] = [250, 5_000];

/** Rejects as the agent does, or with AGENT_UNREACHABLE. */
export async function openRunnerStream(link: AgentLink, lane: Lane, clock: Clock): Promise<Duplex> {
  const first = await streamOf(link, { session: null, received: 0, lane }, clock);
  const kept: ResumableDuplex = new ResumableDuplex({
    windowBytes: runnerWindowBytes[lane],
    keepMs: runnerKeepMs,
    clock,
    broken: lost,
    onDetached: () => void resume(link, kept, { session: first.session, lane, clock }),
  });
  // Nobody may be listening when it breaks.
  kept.on('error', () => undefined);
  kept.attach(first.stream, first.received);
  return kept;
}

async function resume(
  link: AgentLink,
  kept: ResumableDuplex,
  { session, lane, clock }: { session: string; lane: Lane; clock: Clock },
): Promise<void> {
  while (!kept.destroyed) {
    try {
      const next = await streamOf(link, { session, received: kept.received, lane }, clock);
      kept.attach(next.stream, next.received);
      return;
    } catch (error) {
      // Whatever else a connection says as it goes may pass with it: the agent's own refusals do not.
      const mayPass = !(error instanceof ServiceError) || error.status === 503;
      if (!mayPass) kept.destroy(lost());
      else await backAgain(link, clock);
    }
  }
}

/** When the link is connected, or has been for a while. */
async function backAgain(link: AgentLink, clock: Clock): Promise<void> {
  const back = new AbortController();
  const forget = link.watch(({ type }) => {
    if (type === 'connected') back.abort();
  });
  await pause(clock, retryMs, back.signal).catch(() => undefined);
  forget();
}

async function streamOf(
  link: AgentLink,
  head: RunnerHead,
  clock: Clock,
): Promise<{ stream: Duplex; session: string; received: number }> {
  const stream = await link.stream(runnerCalls.stream, head, head.lane);
  const isInTime = whenLate(clock, greetingMs, () => stream.destroy());
  try {
    const greeting = await exactly(stream, runnerGreetingBytes);
    return { stream, ...readRunnerGreeting(greeting) };
  } finally {
    isInTime();
  }
}

/** The first bytes; the others stay in the stream. Rejects with AGENT_UNREACHABLE when they do not come. */
function exactly(stream: Duplex, bytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const read = stream.read(bytes) as Buffer | null;
      if (read === null) return;
      stream.off('readable', look);
      stream.off('close', gone);
      if (read.length === bytes) resolve(read);
      else gone();
    };
    const gone = (): void => reject(lost());
    stream.on('readable', look);
    stream.once('close', gone);
    look();
  });
}

function lost(): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The server is not connected, or does not answer.');
}

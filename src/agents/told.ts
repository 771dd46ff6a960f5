/**
 * Owns what an agent tells and asks by itself. One thing after the other is dealt with, and no more of them than
 * `burst` at once and in each window: an agent that says more waits, and costs nothing meanwhile. One that takes no
 * answers is heard no more.
 */
import type { Duplex } from 'node:stream';

import { type Clock, pause } from '../lib/clock.ts';
import { asServiceError, ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { RateLimit } from '../lib/rate-limit.ts';
import { isRecord, type ToldAnswer, toldBytesMax } from '../protocol/agent-wire.ts';
import { encodeFrame, FrameDecoder } from '../protocol/message-frames.ts';
import { decodePlain } from '../protocol/plain-cbor.ts';

/** Who asks: the server of a certificate, and the serial of that. */
export interface AgentPeer {
  serverId: string;
  serial: string;
}

/** What an agent may ask, by name. */
export type AgentAsks = Readonly<
  Record<string, (peer: AgentPeer, message: unknown) => Promise<unknown>>
>;

export interface HearOptions {
  peer: AgentPeer;
  stream: Duplex;
  asks: AgentAsks;
  tell: (name: string, message: unknown) => void;
  clock: Clock;
  logger: Logger;
  burst?: number;
  windowMs?: number;
}

const nameMax = 100;
/** Of answers that the agent has not taken, when it asks again. */
const untakenMaxBytes = 64 * 1024;

/** Until the stream ends. Rejects when it breaks, and when the agent sends what is none of this, or takes no answers. */
export async function hear(options: HearOptions): Promise<void> {
  const { stream, clock, burst = 100, windowMs = 10_000 } = options;
  const limit = new RateLimit({ burst, windowMs, clock });
  const decoder = new FrameDecoder({ maxBytes: toldBytesMax, decode: decodePlain });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (const frame of decoder.push(chunk)) {
      for (let waitS = limit.take(''); waitS > 0; waitS = limit.take('')) {
        await pause(clock, waitS * 1000);
      }
      await hearOne(frame, options);
    }
  }
}

async function hearOne(frame: unknown, options: HearOptions): Promise<void> {
  const { name, message, n } = isRecord(frame) ? frame : {};
  if (typeof name !== 'string' || name.length > nameMax) {
    throw new Error('Cannot hear an agent: it sends no frames that tell anything');
  }
  if (typeof n !== 'number') {
    options.tell(name, message);
    return;
  }
  if (options.stream.writableLength > untakenMaxBytes) {
    throw new Error('Cannot answer an agent: it takes no answers');
  }
  const answer = await answerTo(name, message, options);
  options.stream.write(encodeFrame({ re: n, ...answer } satisfies ToldAnswer));
}

async function answerTo(
  name: string,
  message: unknown,
  { asks, peer, logger }: HearOptions,
): Promise<
  Omit<ToldAnswer, 're'> & ({ ok: unknown } | { error: ReturnType<ServiceError['toPlain']> })
> {
  try {
    const ask = Object.hasOwn(asks, name) ? asks[name] : undefined;
    if (ask === undefined) throw new ServiceError('NOT_FOUND', 'Nobody answers this question.');
    return { ok: await ask(peer, message) };
  } catch (err) {
    if (!(err instanceof ServiceError))
      logger.error({ err, server: peer.serverId, name }, 'agent_ask_failed');
    return { error: asServiceError(err).toPlain() };
  }
}

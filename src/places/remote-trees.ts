/** Owns the trees of an app or a database on another server: as they go over the link, and what is done to them there. */
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { tarMissed } from '../backups/tar/tar-tree.ts';
import type { MissedEntries } from '../backups/threads/messages.ts';
import { ServiceError } from '../lib/errors.ts';
import type { AgentLink } from '../protocol/agent-link.ts';
import {
  type ExchangeRequest,
  type ExchangeStep,
  placeCalls,
  placeStreams,
  type TreeHead,
  type TreesOwner,
} from '../protocol/agent-place.ts';
import { foreignError } from '../protocol/foreign-error.ts';
import { FrameDecoder } from '../protocol/message-frames.ts';
import { decodePlain } from '../protocol/plain-cbor.ts';
import { dataTree } from './owned-folders.ts';
import type { OwnTrees, TreeName } from './place.ts';
import { numberIn, recordIn } from './plain-values.ts';

const answerMaxBytes = 64 * 1024;
const pieceMaxBytes = 1024 * 1024;
const countMax = Number.MAX_SAFE_INTEGER;
/** A tree of many files is removed, handed over, or brought to stable storage in so long. */
export const treeMs = 10 * 60_000;

export class RemoteTrees implements OwnTrees {
  readonly #link: AgentLink;
  readonly #of: TreesOwner;

  constructor(link: AgentLink, of: TreesOwner) {
    this.#link = link;
    this.#of = of;
  }

  pack(tree: TreeName, signal: AbortSignal): AsyncGenerator<Uint8Array, MissedEntries> {
    return packedThere(this.#link, { ...this.#of, tree }, signal);
  }

  archive(
    tree: TreeName,
    prefix: string,
    signal: AbortSignal,
    of?: 'POSTGRES',
  ): AsyncGenerator<Uint8Array, MissedEntries> {
    const head: TreeHead = { ...this.#of, tree, prefix, ...(of && { of }) };
    return packedThere(this.#link, head, signal);
  }

  fill(tree: TreeName, tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    return fillThere(this.#link, { ...this.#of, tree }, tar, signal);
  }

  fillBeside(tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const head: TreeHead = { ...this.#of, tree: dataTree, isBeside: true };
    return fillThere(this.#link, head, tar, signal);
  }

  async exchange(): Promise<void> {
    await this.#do({ op: 'exchange' });
  }

  async hasPrevious(): Promise<boolean> {
    return (await this.#do({ op: 'hasPrevious' })) === true;
  }

  async settle(data: 'live' | 'previous'): Promise<void> {
    await this.#do({ op: 'settle', data });
  }

  #do(step: ExchangeStep): Promise<unknown> {
    const request: ExchangeRequest = { ...this.#of, ...step };
    return this.#link.call(placeCalls.exchange, request, { timeoutMs: treeMs });
  }
}

async function* packedThere(
  link: AgentLink,
  head: TreeHead,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, MissedEntries> {
  const stream = await link.stream(placeStreams.pack, head, 'bulk', signal);
  const frames = new FrameDecoder({ maxBytes: pieceMaxBytes, decode: decodePlain });
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      for (const told of frames.push(chunk)) {
        if (told instanceof Uint8Array) yield told;
        else return missedIn(recordIn(told));
      }
    }
    throw new ServiceError('AGENT_UNREACHABLE', 'The server was lost while files were read there.');
  } finally {
    stream.destroy();
  }
}

function missedIn({ missed, error }: Readonly<Record<string, unknown>>): MissedEntries {
  if (error !== undefined) throw foreignError(error);
  const counts = recordIn(missed);
  const told = tarMissed.filter((why) => counts[why] !== undefined);
  return Object.fromEntries(told.map((why) => [why, numberIn(counts, why, countMax)]));
}

async function fillThere(
  link: AgentLink,
  head: TreeHead,
  tar: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const stream = await link.stream(placeStreams.fill, head, 'bulk', signal);
  const told = await sentAndTold(stream, tar, signal);
  if (told !== null) throw foreignError(recordIn(told)['error']);
}

/** Sends all, and resolves with the one frame that comes back. The stream ends with it. */
export async function sentAndTold(
  stream: Duplex,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const [told] = await Promise.all([answerOf(stream), sent(bytes, stream, signal)]);
    return told;
  } finally {
    stream.destroy();
  }
}

/** The other side may answer, and end, before it has taken all: then its answer says why. */
async function sent(
  bytes: AsyncIterable<Uint8Array>,
  stream: Duplex,
  signal: AbortSignal,
): Promise<void> {
  await pipeline(bytes, stream, { signal, end: true }).catch((error: unknown) => {
    signal.throwIfAborted();
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_STREAM_PREMATURE_CLOSE' && code !== 'ERR_STREAM_DESTROYED') throw error;
  });
}

async function answerOf(stream: Duplex): Promise<unknown> {
  const frames = new FrameDecoder({ maxBytes: answerMaxBytes, decode: decodePlain });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const [answer] = frames.push(chunk);
    if (answer !== undefined) return answer;
  }
  throw new ServiceError('AGENT_UNREACHABLE', 'The server was lost while it took files.');
}

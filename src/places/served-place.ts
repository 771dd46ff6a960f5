/**
 * Owns what an agent serves of its machine: the other half of `remote-place.ts`.
 *
 * 1. An id is an id, and a name is one name: whatever is sent, nothing outside of the folders of that app or database
 *    is touched, and what belongs to it belongs to a uid of its own where the machine gives them.
 * 2. An archive lies among the incoming ones while it is unpacked, and is removed whatever becomes of it. What an
 *    agent that died left there is removed by the next.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asServiceError, ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { AgentCall, AgentServices } from '../protocol/agent-link.ts';
import {
  placeCalls,
  placeStreams,
  streamMark,
  type UnpackAnswer,
} from '../protocol/agent-place.ts';
import { encodeFrame } from '../protocol/message-frames.ts';
import { asFailure } from '../workers/task-failure.ts';
import { factsOf } from './machine-facts.ts';
import type { AppFiles, Machine } from './place.ts';
import { isIn, numberIn, oneIn, recordIn, refused, textIn, textsIn } from './plain-values.ts';
import { answerTools } from './served-tools.ts';
import { changeTrees, sendTree, takeTree } from './served-trees.ts';
import { connectServed } from './served-connections.ts';
import { isOfWorkload, releaseName, type ServedFiles, servedFiles } from './served-owners.ts';

export interface ServedPlaceOptions {
  /** Absolute. */
  appsRoot: string;
  machine: Machine;
  /** For archives while they are unpacked: a folder of ours, which may be missing. */
  incoming: string;
  /** Whether it is this workload that listens there. */
  listens: (workload: string, host: string, port: number) => Promise<boolean>;
  logger: Logger;
}

const [releasesMax, partsMax] = [10_000, 64];
/** Of one archive; uploads are smaller. */
const archiveBytesMax = 1024 ** 4;

export function servedPlace(options: ServedPlaceOptions): AgentServices {
  const { appsRoot, machine, logger } = options;
  const files = servedFiles(machine);
  return {
    calls: {
      [placeCalls.machine]: () => Promise.resolve(factsOf(appsRoot, machine)),
      [placeCalls.app]: told((message) => changeApp(files, message)),
      [placeCalls.source]: told((message) => lookAtSource(files, message)),
      [placeCalls.database]: told((message) => changeDatabase(files, message)),
      [placeCalls.tools]: told((message) => answerTools(machine.tools, message)),
      [placeCalls.exchange]: told((message) => changeTrees(files, message)),
    },
    streams: {
      [placeStreams.unpack]: (head, stream) => unpack(options, files, head, stream),
      [placeStreams.pack]: (head, stream) => sendTree(files, head, stream, logger),
      [placeStreams.fill]: (head, stream) => takeTree(files, head, stream, logger),
      [placeStreams.text]: (head, stream) => sendText(files, head, stream, logger),
      [placeStreams.connect]: (head, stream) =>
        connectServed(head, stream, {
          isSocket: (path) => isOfWorkload(appsRoot, path),
          listens: options.listens,
        }),
    },
  };
}

/** Removes what an agent that died was unpacking. */
export async function dropIncoming(incoming: string): Promise<void> {
  await rm(incoming, { recursive: true, force: true });
}

/** A full disk is told as such. */
function told(answer: (message: unknown) => Promise<unknown>): AgentCall {
  return async (message) => {
    try {
      return await answer(message);
    } catch (error) {
      const failure = asFailure(error);
      throw failure.kind === 'refused' ? ServiceError.fromPlain(failure.error) : error;
    }
  };
}

async function changeApp(files: ServedFiles, message: unknown): Promise<null> {
  const request = recordIn(message);
  const app = files.app(request['owner']);
  switch (oneIn(request, 'op', ['ensure', 'remove', 'empty', 'drop', 'keep'])) {
    case 'ensure':
      await app.ensure();
      return null;
    case 'remove':
      await app.remove();
      return null;
    case 'empty':
      await app.emptyRelease(textIn(request, 'release', releaseName));
      return null;
    case 'drop':
      await app.removeRelease(textIn(request, 'release', releaseName));
      return null;
    case 'keep':
      await app.keepReleases(new Set(textsIn(request, 'releases', releasesMax, releaseName)));
      return null;
  }
}

function lookAtSource(files: ServedFiles, message: unknown): Promise<boolean> {
  const look = recordIn(message);
  const { source, path } = sourceIn(files, look);
  const isFile = oneIn(look, 'kind', ['file', 'folder']) === 'file';
  return isFile ? source.hasFile(...path) : source.hasFolder(...path);
}

function sourceIn(
  files: ServedFiles,
  look: Readonly<Record<string, unknown>>,
): { source: ReturnType<AppFiles['source']>; path: string[] } {
  const release = textIn(look, 'release', releaseName);
  const source = files.app(look['owner']).source(release);
  // Behind this nothing leads out: links and `..` are not followed.
  return { source, path: textsIn(look, 'path', partsMax, /^[^\0]{1,4096}$/) };
}

async function sendText(
  files: ServedFiles,
  head: unknown,
  stream: Duplex,
  logger: Logger,
): Promise<void> {
  const { source, path } = sourceIn(files, recordIn(head));
  const text = await source.text(...path);
  stream.on('error', (err: unknown) => logger.debug({ err }, 'text_not_sent'));
  const mark = Buffer.from([text === null ? streamMark.not : streamMark.there]);
  stream.end(Buffer.concat([mark, Buffer.from(text ?? '')]));
  stream.resume();
}

async function changeDatabase(files: ServedFiles, message: unknown): Promise<null> {
  const request = recordIn(message);
  const database = files.database(request['owner']);
  const ops = ['makeAnew', 'ensure', 'handOver', 'remove', 'write', 'writeData', 'lend'] as const;
  const op = oneIn(request, 'op', ops);
  switch (op) {
    case 'makeAnew':
    case 'ensure':
    case 'handOver':
    case 'remove':
      await database[op]();
      return null;
    case 'write':
    case 'writeData':
      await database[op](textIn(request, 'name', /^\w[\w.-]{0,63}$/), textIn(request, 'text'));
      return null;
    case 'lend':
      await database.lend(files.lent(request['uid']));
      return null;
  }
}

/** Accepts the stream at once; what comes of it is its last word. */
function unpack(
  { incoming, logger }: ServedPlaceOptions,
  files: ServedFiles,
  message: unknown,
  stream: Duplex,
): void {
  const head = recordIn(message);
  const app = files.app(head['owner']);
  const release = textIn(head, 'release', releaseName);
  const archive = {
    path: join(incoming, randomUUID()),
    format: oneIn(head, 'format', ['tar', 'tar.gz', 'zip']),
    keepsSoleFolder: isIn(head, 'keepsSoleFolder'),
  };
  const sizeBytes = numberIn(head, 'sizeBytes', archiveBytesMax);
  const isOurs = isIn(head, 'isOurs');
  const gone = new AbortController();
  stream.once('close', () => gone.abort(new Error('The link was lost.')));
  const { signal } = gone;
  const answer = async (): Promise<UnpackAnswer> => {
    try {
      await mkdir(incoming, { recursive: true, mode: 0o700 });
      await receive(stream, { path: archive.path, sizeBytes, signal });
      return await app.unpack(release, archive, { isOurs, signal });
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'archive_not_unpacked');
      const failure = asFailure(error);
      const refusal = failure.kind === 'refused' ? failure.error : asServiceError(error).toPlain();
      return { error: refusal };
    } finally {
      await rm(archive.path, { force: true }).catch((err: unknown) =>
        logger.error({ err }, 'archive_not_removed'),
      );
    }
  };
  void answer().then((told) => void stream.end(encodeFrame(told)));
}

async function receive(
  stream: Duplex,
  { path, sizeBytes, signal }: { path: string; sizeBytes: number; signal: AbortSignal },
): Promise<void> {
  let bytes = 0;
  const bounded = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > sizeBytes) throw refused('more of an archive than it said');
      yield chunk;
    }
  };
  // Not by `pipeline` from the stream itself, which has to answer yet.
  const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  await pipeline(bounded(chunks), file, { signal });
  if (bytes !== sizeBytes) throw refused('less of an archive than it said');
}

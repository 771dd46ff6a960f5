/** Owns the trees that an agent packs and fills for the control plane: the other half of `remote-trees.ts`. */
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { encodeFrame } from '../protocol/message-frames.ts';
import { asFailure } from '../workers/task-failure.ts';
import type { OwnTrees, TreeName } from './place.ts';
import { dataTree } from './owned-folders.ts';
import { oneIn, recordIn, textIn } from './plain-values.ts';
import { releaseName, type ServedFiles } from './served-owners.ts';

const pieceBytes = 256 * 1024;

interface Asked {
  trees: OwnTrees;
  tree: TreeName;
  prefix: string | null;
  engine: 'POSTGRES' | undefined;
  isBeside: boolean;
}

/** Accepts the stream at once; what comes of it is its last word. */
export function sendTree(files: ServedFiles, head: unknown, stream: Duplex, logger: Logger): void {
  const asked = askedIn(files, head);
  const signal = goneWith(stream);
  stream.resume();
  pipeline(framesOf(asked, signal, logger), stream).catch((err: unknown) =>
    logger.warn({ err }, 'tree_not_sent'),
  );
}

/** The same. */
export function takeTree(files: ServedFiles, head: unknown, stream: Duplex, logger: Logger): void {
  const { trees, tree, isBeside } = askedIn(files, head);
  const signal = goneWith(stream);
  // Not by the stream itself, which has to answer yet.
  const tar = stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  void (isBeside ? trees.fillBeside(tar, signal) : trees.fill(tree, tar, signal))
    .then(() => null, toError(signal, logger))
    .then((told) => void stream.end(encodeFrame(told)));
}

/** A step of an exchange: `ExchangeRequest`. */
export async function changeTrees(files: ServedFiles, message: unknown): Promise<boolean | null> {
  const request = recordIn(message);
  const trees = treesIn(files, request);
  switch (oneIn(request, 'op', ['exchange', 'hasPrevious', 'settle'])) {
    case 'exchange':
      await trees.exchange();
      return null;
    case 'hasPrevious':
      return await trees.hasPrevious();
    case 'settle':
      await trees.settle(oneIn(request, 'data', ['live', 'previous']));
      return null;
  }
}

function treesIn(files: ServedFiles, asked: Readonly<Record<string, unknown>>): OwnTrees {
  return files[oneIn(asked, 'kind', ['app', 'database'])](asked['owner']).trees;
}

function askedIn(files: ServedFiles, head: unknown): Asked {
  const asked = recordIn(head);
  const isBeside = asked['isBeside'] === true;
  const isData = asked['tree'] === dataTree || asked['kind'] === 'database' || isBeside;
  return {
    trees: treesIn(files, asked),
    tree: textIn(asked, 'tree', isData ? /^data$/ : releaseName),
    prefix:
      asked['prefix'] === undefined ? null : textIn(asked, 'prefix', /^(?:\.\/)?(?:\w[\w.-]*\/)*$/),
    engine: asked['of'] === undefined ? undefined : oneIn(asked, 'of', ['POSTGRES'] as const),
    isBeside,
  };
}

function goneWith(stream: Duplex): AbortSignal {
  const gone = new AbortController();
  stream.once('close', () => gone.abort(new Error('The link was lost.')));
  return gone.signal;
}

async function* framesOf(
  { trees, tree, prefix, engine }: Asked,
  signal: AbortSignal,
  logger: Logger,
): AsyncGenerator<Uint8Array> {
  try {
    const packed =
      prefix === null ? trees.pack(tree, signal) : trees.archive(tree, prefix, signal, engine);
    let next = await packed.next();
    for (; next.done !== true; next = await packed.next()) {
      const bytes = next.value;
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        yield encodeFrame(bytes.subarray(at, at + pieceBytes));
      }
    }
    yield encodeFrame({ missed: next.value });
  } catch (error) {
    yield encodeFrame(toError(signal, logger)(error));
  }
}

/** A full disk is told as such. */
function toError(signal: AbortSignal, logger: Logger): (error: unknown) => { error: unknown } {
  return (error) => {
    if (!signal.aborted) logger.warn({ err: error }, 'tree_not_moved');
    const failure = asFailure(error);
    return {
      error: failure.kind === 'refused' ? failure.error : asServiceError(error).toPlain(),
    };
  };
}

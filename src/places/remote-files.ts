/** Owns the files of apps and databases on another server: their paths here, and what is done to them there. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Extracted } from '../archives/receiving/bulk-pool.ts';
import type { AgentLink } from '../protocol/agent-link.ts';
import {
  type AppFilesRequest,
  type DatabaseFilesRequest,
  placeCalls,
  placeStreams,
  type SourceLook,
  streamMark,
  type UnpackHead,
} from '../protocol/agent-place.ts';
import { type Clock, whenLate } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import { foreignError } from '../protocol/foreign-error.ts';
import { AppPaths, DatabasePaths } from './owned-folders.ts';
import type {
  AppFiles,
  DatabaseFiles,
  FilesOwner,
  OwnTrees,
  ReleaseSource,
  SourceArchive,
  UnpackOptions,
} from './place.ts';
import { numberIn, recordIn } from './plain-values.ts';
import { RemoteTrees, sentAndTold, treeMs } from './remote-trees.ts';
import { firstByte, restOf } from './streamed.ts';

const [readMaxBytes, readMs] = [1024 * 1024, 20_000];
const countMax = Number.MAX_SAFE_INTEGER;

type Without<T, K extends string> = T extends unknown ? Omit<T, K> : never;

export class RemoteAppFiles extends AppPaths implements AppFiles {
  readonly #link: AgentLink;
  readonly #owner: FilesOwner;
  readonly #clock: Clock;
  readonly trees: OwnTrees;

  constructor(link: AgentLink, appsRoot: string, { id, uid }: FilesOwner, clock: Clock) {
    super(appsRoot, id);
    this.#link = link;
    this.#owner = { id, uid };
    this.#clock = clock;
    this.trees = new RemoteTrees(link, { kind: 'app', owner: this.#owner });
  }

  source(release: string): ReleaseSource {
    const link = this.#link;
    const owner = this.#owner;
    const clock = this.#clock;
    const look = async (kind: SourceLook['kind'], path: readonly string[]): Promise<boolean> =>
      (await link.call(placeCalls.source, { owner, release, kind, path })) === true;
    return {
      hasFile: (...path) => look('file', path),
      hasFolder: (...path) => look('folder', path),
      text: (...path) => textAt(link, { owner, release, kind: 'file', path }, clock),
    };
  }

  async ensure(): Promise<void> {
    await this.#do({ op: 'ensure' });
  }

  async unpack(
    release: string,
    { path, format, keepsSoleFolder }: SourceArchive,
    { isOurs = false, signal }: UnpackOptions,
  ): Promise<Extracted> {
    const { size: sizeBytes } = await stat(path);
    const how = { format, sizeBytes, keepsSoleFolder, isOurs };
    const head: UnpackHead = { owner: this.#owner, release, ...how };
    const stream = await this.#link.stream(placeStreams.unpack, head, 'bulk', signal);
    return extractedIn(await sentAndTold(stream, createReadStream(path), signal));
  }

  async emptyRelease(release: string): Promise<string> {
    await this.#do({ op: 'empty', release });
    return this.release(release);
  }

  async removeRelease(release: string): Promise<void> {
    await this.#do({ op: 'drop', release });
  }

  async keepReleases(names: ReadonlySet<string>): Promise<void> {
    await this.#do({ op: 'keep', releases: [...names] });
  }

  async remove(signal?: AbortSignal): Promise<void> {
    await this.#do({ op: 'remove' }, signal);
  }

  async #do(request: Without<AppFilesRequest, 'owner'>, signal?: AbortSignal): Promise<void> {
    const message = { owner: this.#owner, ...request };
    await this.#link.call(placeCalls.app, message, {
      timeoutMs: treeMs,
      ...(signal && { signal }),
    });
  }
}

export class RemoteDatabaseFiles extends DatabasePaths implements DatabaseFiles {
  readonly #link: AgentLink;
  readonly #owner: FilesOwner;
  readonly trees: OwnTrees;

  constructor(link: AgentLink, appsRoot: string, { id, uid }: FilesOwner) {
    super(appsRoot, id);
    this.#link = link;
    this.#owner = { id, uid };
    this.trees = new RemoteTrees(link, { kind: 'database', owner: this.#owner });
  }

  async makeAnew(): Promise<void> {
    await this.#do({ op: 'makeAnew' });
  }

  async ensure(): Promise<void> {
    await this.#do({ op: 'ensure' });
  }

  async write(name: string, text: string): Promise<string> {
    await this.#do({ op: 'write', name, text });
    return this.confFile(name);
  }

  async writeData(name: string, text: string): Promise<void> {
    await this.#do({ op: 'writeData', name, text });
  }

  async lend(uid: number | null): Promise<void> {
    await this.#do({ op: 'lend', uid });
  }

  async handOver(): Promise<void> {
    await this.#do({ op: 'handOver' });
  }

  async remove(signal?: AbortSignal): Promise<void> {
    await this.#do({ op: 'remove' }, signal);
  }

  async #do(request: Without<DatabaseFilesRequest, 'owner'>, signal?: AbortSignal): Promise<void> {
    const message = { owner: this.#owner, ...request };
    await this.#link.call(placeCalls.database, message, {
      timeoutMs: treeMs,
      ...(signal && { signal }),
    });
  }
}

async function textAt(link: AgentLink, look: SourceLook, clock: Clock): Promise<string | null> {
  const stream = await link.stream(placeStreams.text, look, 'bulk');
  const lost = new ServiceError(
    'AGENT_UNREACHABLE',
    'The server was lost while a file was read, or did not send it in time.',
  );
  const isInTime = whenLate(clock, readMs, () => stream.destroy(lost));
  try {
    const mark = await firstByte(stream);
    if (mark === streamMark.not) return null;
    if (mark === streamMark.there) return (await restOf(stream, readMaxBytes)).toString();
    throw lost;
  } finally {
    isInTime();
    stream.destroy();
  }
}

function extractedIn(told: unknown): Extracted {
  const answer = recordIn(told);
  if (answer['error'] !== undefined) throw foreignError(answer['error']);
  return {
    entries: numberIn(answer, 'entries', countMax),
    bytes: numberIn(answer, 'bytes', countMax),
  };
}

/**
 * Owns the files in volumes of ours, as tar: the daemon reads and writes them, in a container that is made
 * for that and never starts.
 *
 * 1. The image of the container is empty: nothing in it could run, and nothing of it comes into a volume.
 * 2. The daemon stays within the container's own root, so that no link leads out of the volumes.
 * 3. The container goes with the reading or writing. What a process that died left is removed when the next
 *    one begins, before it makes its first.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type Dockerode from 'dockerode';
import { ServiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { VolumeFolders, Volumes } from '../../driver.ts';
import { type Engine, isAway, orGone, statusOf, unreachable, wordsOf } from '../engine/engine.ts';
import { label, type Names } from '../engine/names.ts';
import type { Networks } from '../engine/networks.ts';

export interface VolumeFilesParts {
  engine: Engine;
  names: Names;
  networks: Networks;
  logger: Logger;
}

/** Where the volumes are in the container, and how every name in a tar begins. */
const root = '/volumes';
const imageTag = 'volumes';
/** Two blocks of zeros: a tar of nothing. */
const emptyTar = Buffer.alloc(1024);
/** As long as a timer may be; whether the daemon lives is watched besides. */
const writeMs = 2 ** 31 - 1;
const livesWithinMs = 2000;
const wordsMax = 300;

export class VolumeFiles implements Volumes {
  readonly #parts: VolumeFilesParts;
  #swept: Promise<void> | null = null;

  constructor(parts: VolumeFilesParts) {
    this.#parts = parts;
  }

  /** Removes what an earlier process left. If that fails, the next use tries it again. */
  open(): void {
    this.#sweep().catch((error: unknown) =>
      this.#parts.logger.debug({ err: error }, 'volume_containers_not_swept'),
    );
  }

  of(owner: string): Promise<string[]> {
    return this.#parts.networks.volumesOf(owner);
  }

  async *read(
    owner: string,
    folders: VolumeFolders,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const { engine } = this.#parts;
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const container = await this.#make(owner, folders, true);
    try {
      void engine.watchOver(over);
      const stream = await engine.begin(
        (docker) => docker.getContainer(container).getArchive({ path: root }),
        both,
      );
      yield* stream as AsyncIterable<Uint8Array>;
    } catch (error) {
      signal.throwIfAborted();
      if (over.signal.aborted) throw unreachable(error);
      if (statusOf(error) === undefined) throw error;
      const detail = `Docker could not read the volume: ${wordsOf(error).slice(0, wordsMax)}`;
      throw new ServiceError('DUMP_FAILED', detail, { cause: error });
    } finally {
      over.abort();
      await this.#remove(container);
    }
  }

  async write(
    owner: string,
    folders: VolumeFolders,
    tar: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const { networks } = this.#parts;
    for (const volume of Object.values(folders)) await networks.ensureVolume(volume, owner);
    const container = await this.#make(owner, folders, false);
    try {
      await this.#put(container, tar, signal);
    } finally {
      await this.#remove(container);
    }
  }

  async #put(
    container: string,
    tar: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const { engine } = this.#parts;
    const over = new AbortController();
    const body = Readable.from(tar);
    let torn: unknown;
    body.once('error', (error) => {
      torn = error;
      over.abort();
    });
    void engine.watchOver(over);
    try {
      await engine.ask(
        (docker) => docker.getContainer(container).putArchive(body, { path: root }),
        { timeoutMs: writeMs, once: true, signal: AbortSignal.any([signal, over.signal]) },
      );
    } catch (error) {
      signal.throwIfAborted();
      throw torn ?? (await this.#refusal(error));
    } finally {
      over.abort();
      body.destroy();
    }
  }

  /** A daemon that has no more room may end the connection before it says so. */
  async #refusal(error: unknown): Promise<unknown> {
    if (statusOf(error) !== undefined) {
      const words = wordsOf(error);
      if (/no space left|quota exceeded/i.test(words)) {
        return new ServiceError('STORAGE_FULL', 'There is no room for the volume.', {
          cause: error,
        });
      }
      const detail = `Docker could not write the volume: ${words.slice(0, wordsMax)}`;
      return new ServiceError('RESTORE_FAILED', detail, { cause: error });
    }
    if (!isAway(error) || !(await this.#parts.engine.answers(livesWithinMs))) return error;
    const detail = 'Docker stopped taking the files of the volume.';
    return new ServiceError('RESTORE_FAILED', detail, { cause: error });
  }

  async #make(owner: string, folders: VolumeFolders, readOnly: boolean): Promise<string> {
    const { engine, names } = this.#parts;
    await this.#sweep();
    await this.#ensureImage();
    const name = names.container(`volumes-${randomUUID()}`);
    const Labels = names.mark(owner);
    const Mounts = Object.entries(folders).map(([folder, volume]) => ({
      Type: 'volume' as const,
      Source: names.volume(volume),
      Target: `${root}/${folder}`,
      ReadOnly: readOnly,
      VolumeOptions: { NoCopy: true, Labels, DriverConfig: {} },
    }));
    const options: Dockerode.ContainerCreateOptions = {
      name,
      Image: this.#image,
      Cmd: ['none'],
      Labels: { ...Labels, [label.volumes]: 'files' },
      HostConfig: { NetworkMode: 'none', Mounts: Mounts as Dockerode.MountSettings[] },
    };
    try {
      await engine.ask((docker) => docker.createContainer(options));
    } catch (error) {
      if (statusOf(error) !== 409) throw error; // It was made by a request whose answer was lost.
    }
    return name;
  }

  /** The next use removes what could not be removed now. */
  async #remove(container: string): Promise<void> {
    const { engine, logger } = this.#parts;
    try {
      await engine.ask((docker) => orGone(docker.getContainer(container).remove({ force: true })));
    } catch (error) {
      logger.warn({ err: error, container }, 'volume_container_not_removed');
    }
  }

  #sweep(): Promise<void> {
    this.#swept ??= this.#removeLeft().catch((error: unknown) => {
      this.#swept = null;
      throw error;
    });
    return this.#swept;
  }

  async #removeLeft(): Promise<void> {
    const { engine, names } = this.#parts;
    const filters = { label: [...names.markFilter(), label.volumes] };
    const left = await engine.ask((docker) => docker.listContainers({ all: true, filters }));
    for (const { Id } of left) await this.#remove(Id);
  }

  async #ensureImage(): Promise<void> {
    const { engine, names } = this.#parts;
    const known = await engine.ask((docker) => orGone(docker.getImage(this.#image).inspect()));
    if (known !== undefined) return;
    const options = { fromSrc: '-', repo: names.repository, tag: imageTag };
    await engine.ask(async (docker) => {
      const progress = await docker.importImage(Readable.from([emptyTar]), options);
      progress.resume();
      await finished(progress);
    });
  }

  get #image(): string {
    return `${this.#parts.names.repository}:${imageTag}`;
  }
}

/**
 * Owns the images of ours on a daemon: built, pulled, kept.
 *
 * 1. An image of ours has a tag in our own repository that nobody can guess: see image-tags. No build of
 *    another team finds it, neither by name nor by id, which BuildKit takes for a name. An image by another
 *    name is somebody else's and left alone.
 * 2. What is under way ends when it is aborted, and with it what it started on the daemon.
 * 3. A login goes to its own registry and is in no line and no log.
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';

import type Dockerode from 'dockerode';

import type { Clock } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import type { ImageBuild, ImageInfo, ImagePull, Images, RegistryLogin } from '../../driver.ts';
import { buildContext, type BuildContext } from './build-context.ts';
import { checkBuildRules, checkRegistry, checkedArgs } from './build-rules.ts';
import { buildWithBuildKit, openSession } from './buildkit.ts';
import { type Engine, orGone, statusOf, unreachable, wordsOf } from '../engine/engine.ts';
import { asFailure, buildFailure, registryFailure } from './image-failures.ts';
import { tellProgress } from './image-progress.ts';
import type { ImageTags } from './image-tags.ts';
import type { Names } from '../engine/names.ts';
import { KeyedQueue } from '../../../lib/keyed-queue.ts';

export interface ImagesParts {
  dir: string;
  engine: Engine;
  names: Names;
  imageTags: ImageTags;
  clock: Clock;
  logger: Logger;
}

const referencePattern =
  /^[a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;

type Say = (line: string) => void;

const dockerHub = 'docker.io';
export class DockerImages implements Images {
  readonly #parts: ImagesParts;

  readonly #turns = new KeyedQueue();
  #renamed: Promise<void> | undefined;

  constructor(parts: ImagesParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async open(): Promise<void> {
    try {
      await this.#renameOld();
      await this.#discardLent();
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'old_images_not_cleared');
    }
  }

  /** What a container is made of: the tag of an image of ours, any other as it is. */
  async tagOf(image: string): Promise<string> {
    const { imageTags } = this.#parts;
    if (imageTags.isName(image)) await this.#renameOld();
    return imageTags.tagOf(image);
  }

  async build(spec: ImageBuild, say: Say, signal: AbortSignal): Promise<ImageInfo> {
    const { engine, names } = this.#parts;
    const image = names.image(spec.owner, spec.name);
    const tag = await this.tagOf(image);
    const before = await this.#find(tag, signal);
    const context = await buildContext(spec);
    const over = new AbortController();
    context.stream.once('error', () => over.abort());
    void engine.watchOver(over);
    const both = AbortSignal.any([signal, over.signal]);
    try {
      checkBuildRules(context.text, spec.buildArgs, names);
      const stream = await this.#begin(spec, tag, context, both);
      const failure = await this.#tell(stream, sayWithout(spec.logins, say), signal);
      const hosts = new Set(spec.logins.map(({ host }) => host));
      if (failure !== null) throw buildFailure(failure, hosts);
    } catch (error) {
      signal.throwIfAborted();
      // What it is made of cannot be read, or must not be.
      const { errored } = context.stream;
      if (errored) throw asFailure(errored, 'IMAGE_BUILD_FAILED');
      if (over.signal.aborted || (await engine.isEnding())) throw unreachable(error);
      throw asFailure(error, 'IMAGE_BUILD_FAILED');
    } finally {
      over.abort();
      context.stream.destroy();
    }
    const made = await this.#find(tag, signal);
    // The daemon went before it was done, and said nothing of it.
    if (!made) throw unreachable();
    // Builds that change nothing give the same image; it is there when the daemon is.
    if (made.Id === before?.Id) await engine.ask((docker) => docker.ping());
    if (before && before.Id !== made.Id) await this.#discard(before.Id);
    return { image, ports: portsOf(made) };
  }

  async #begin(
    spec: ImageBuild,
    tag: string,
    context: BuildContext,
    signal: AbortSignal,
  ): Promise<NodeJS.ReadableStream> {
    const { engine } = this.#parts;
    const docker = await engine.client();
    const loginOf = (host: string): RegistryLogin | undefined => loginAt(host, spec.logins);
    const session = await engine.begin((asked) => openSession(asked, loginOf), signal);
    const options = {
      t: tag,
      dockerfile: context.dockerfile,
      buildargs: { ...checkedArgs(spec) },
      ...(spec.target !== undefined && { target: spec.target }),
    };
    const abortSignal = AbortSignal.any([signal, engine.closed]);
    return buildWithBuildKit(docker, session, context.stream, options, abortSignal);
  }

  pull(spec: ImagePull, say: Say, signal: AbortSignal): Promise<ImageInfo> {
    // One at a time: what one fetched must not look as if it had been there for the other.
    return this.#turns.take(localName(spec.reference), () => this.#pull(spec, say, signal));
  }

  async #pull(spec: ImagePull, say: Say, signal: AbortSignal): Promise<ImageInfo> {
    const { names } = this.#parts;
    const image = names.image(spec.owner, spec.name);
    const { reference } = spec;
    if (!referencePattern.test(reference) || names.isImage(localName(reference))) {
      throw new ServiceError('IMAGE_NOT_FOUND', `There is no image ${reference}.`);
    }
    checkRegistry(reference);
    const there = await this.#findNamed(reference, signal);
    try {
      await this.#fetch(spec, say, signal);
    } catch (error) {
      signal.throwIfAborted();
      const failure = asFailure(error, 'IMAGE_NOT_FOUND');
      // An image the server's owner put there is as good when no registry has it. What somebody else's
      // login fetched is not: it keeps only our name, and is not found by its own.
      const hasLogin = loginFor(spec) !== undefined;
      if (!there || hasLogin || !isNoAnswer(failure)) throw failure;
      say(`Using the image ${reference} that is on the server: no registry gave it.`);
    }
    const fetched = await this.#find(reference, signal);
    if (!fetched) throw unreachable();
    await this.#name(fetched.Id, await this.tagOf(image));
    if (!there) await this.#discard(reference);
    return { image, ports: portsOf(fetched), digest: digestOf(fetched, reference) };
  }

  async keep(owner: string, images: ReadonlySet<string>): Promise<void> {
    const { imageTags, names } = this.#parts;
    await this.#renameOld();
    const kept = new Set([...images].map((image) => imageTags.tagOf(image)));
    const ours = `${names.repository}:${owner}.`;
    for (const tag of await this.#tags()) {
      if (tag.startsWith(ours) && !kept.has(tag)) await this.#discard(tag);
    }
  }

  /** Versions before this one used tags that can be guessed: their images get the tags of today, once. */
  #renameOld(): Promise<void> {
    this.#renamed ??= this.#rename().catch((error: unknown) => {
      this.#renamed = undefined;
      throw error;
    });
    return this.#renamed;
  }

  async #rename(): Promise<void> {
    const { imageTags } = this.#parts;
    for (const old of (await this.#tags()).filter((tag) => imageTags.isName(tag))) {
      await this.#name(old, imageTags.tagOf(old));
      await this.#discard(old);
    }
  }

  /**
   * Versions before this one fetched images for one build with a login, and noted each in a file. What a
   * crash then left may be had by everybody.
   */
  async #discardLent(): Promise<void> {
    const folder = path.join(this.#parts.dir, 'loans');
    for (const name of await readdir(folder).catch(() => [])) {
      const reference = await readFile(path.join(folder, name), 'utf8');
      // An empty note was written ahead of the fetching.
      if (reference !== '') await this.#discard(reference);
      await rm(path.join(folder, name));
    }
  }

  /** All of our repository. */
  async #tags(): Promise<string[]> {
    const { engine, names } = this.#parts;
    const filters = { reference: [names.repository] };
    const found = await engine.ask((docker) =>
      docker.listImages({ filters } as Dockerode.ListImagesOptions),
    );
    return found.flatMap(({ RepoTags: tags }) => tags ?? []);
  }

  async #fetch(spec: ImagePull, say: Say, signal: AbortSignal): Promise<void> {
    const { engine } = this.#parts;
    const { reference } = spec;
    const login = loginFor(spec);
    const docker = await engine.client();
    await engine.ask((asked) => asked.ping(), { signal });
    const over = new AbortController();
    void engine.watchOver(over);
    const query = { fromImage: isNamedFully(reference) ? reference : `${reference}:latest` };
    try {
      const stream = await docker.createImage(
        (login && {
          username: login.username,
          password: login.password,
          serveraddress: login.host,
        }) as Dockerode.AuthConfig,
        { ...query, abortSignal: AbortSignal.any([signal, over.signal, engine.closed]) },
      );
      const failure = await this.#tell(stream, say, signal);
      if (failure === null) return;
      throw (
        registryFailure(reference, failure, login !== undefined) ??
        new ServiceError('IMAGE_NOT_FOUND', `The image ${reference} cannot be pulled.`)
      );
    } catch (error) {
      if (over.signal.aborted) throw unreachable(error);
      if (statusOf(error) === undefined) throw error;
      throw registryFailure(reference, wordsOf(error), login !== undefined) ?? error;
    } finally {
      over.abort();
    }
  }

  /** The failure that was told; a stream that breaks off is the daemon's end. */
  async #tell(
    stream: AsyncIterable<unknown>,
    say: Say,
    signal: AbortSignal,
  ): Promise<string | null> {
    try {
      return await tellProgress(stream, say, this.#parts.clock);
    } catch (error) {
      signal.throwIfAborted();
      throw unreachable(error);
    }
  }

  async #find(image: string, signal: AbortSignal): Promise<Dockerode.ImageInspectInfo | undefined> {
    return this.#parts.engine.ask((docker) => orGone(docker.getImage(image).inspect()), { signal });
  }

  /** By this very name: the daemon also takes the beginning of an id for one. */
  async #findNamed(
    reference: string,
    signal: AbortSignal,
  ): Promise<Dockerode.ImageInspectInfo | undefined> {
    if (isDigest(reference)) return undefined;
    const found = await this.#find(reference, signal);
    const tags = found?.RepoTags as string[] | null | undefined;
    return tags?.includes(localName(reference)) ? found : undefined;
  }

  async #name(id: string, image: string): Promise<void> {
    const at = image.lastIndexOf(':');
    const tag = { repo: image.slice(0, at), tag: image.slice(at + 1) };
    await this.#parts.engine.ask((docker) => docker.getImage(id).tag(tag));
  }

  /** Takes a name away, and the image with its last one; none that a container is made of. */
  async #discard(image: string): Promise<void> {
    try {
      await this.#parts.engine.ask((docker) => orGone(docker.getImage(image).remove()));
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
      this.#parts.logger.debug({ image }, 'image_still_used');
    }
  }
}

/**
 * `say` without the digests of images. BuildKit keeps what a login fetched, and gives it to whoever names
 * it by its digest, with a login or without.
 */
function sayWithout(logins: readonly RegistryLogin[], say: Say): Say {
  if (logins.length === 0) return say;
  return (line) => say(line.startsWith('[') ? line.replaceAll(/@sha256:[0-9a-f]{64}/g, '') : line);
}

function loginFor({ reference, logins }: ImagePull): RegistryLogin | undefined {
  const [first = '', ...rest] = reference.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return loginAt(isHost ? first : dockerHub, logins);
}

function loginAt(host: string, logins: readonly RegistryLogin[]): RegistryLogin | undefined {
  return logins.find((login) => hostKey(login.host) === hostKey(host));
}

function hostKey(host: string): string {
  const key = host.toLowerCase();
  return key === 'index.docker.io' || key === 'registry-1.docker.io' ? dockerHub : key;
}

/** As the daemon lists it. */
function localName(reference: string): string {
  const short = reference.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '');
  return isNamedFully(short) ? short : `${short}:latest`;
}

function isDigest(reference: string): boolean {
  return reference.includes('@');
}

function isNamedFully(reference: string): boolean {
  return isDigest(reference) || (reference.split('/').at(-1) ?? '').includes(':');
}

/** Nobody said that it may not be had. */
function isNoAnswer(failure: unknown): boolean {
  if (!(failure instanceof ServiceError)) return false;
  return failure.code === 'IMAGE_NOT_FOUND' || failure.message.endsWith('is not reached.');
}

function portsOf(image: Dockerode.ImageInspectInfo | undefined): number[] {
  const exposed = image?.Config.ExposedPorts as Record<string, unknown> | null | undefined;
  return Object.keys(exposed ?? {})
    .filter((port) => port.endsWith('/tcp'))
    .map((port) => Number(port.split('/')[0]))
    .sort((a, b) => a - b);
}

function digestOf(image: Dockerode.ImageInspectInfo, reference: string): string | null {
  const repository = (reference.split('@')[0] ?? '').replace(/:[^:/]*$/, '');
  const digests = image.RepoDigests as string[] | null;
  const own = digests?.find((digest) => digest.startsWith(`${repository}@`)) ?? digests?.[0];
  return own?.split('@')[1] ?? null;
}

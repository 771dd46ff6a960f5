/**
 * Owns what a build is given of a folder: a tar stream, made as the daemon takes it.
 *
 * 1. What the folder's `.dockerignore` names is not sent, nor followed: a link goes as a link.
 * 2. A Dockerfile given as text is sent beside the folder's files and never written into the folder.
 */
import { randomBytes } from 'node:crypto';
import { lstat, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';

import { ServiceError } from '../../../lib/errors.ts';
import type { ImageBuild } from '../../driver.ts';
import { DockerIgnore } from './dockerignore.ts';

export interface BuildContext {
  stream: Readable;
  /** Its name within, and what it says. */
  dockerfile: string;
  text: string;
}

type Ignores = (name: string) => boolean;

const dockerfileMaxBytes = 256 * 1024;
/** Each name of the folder is held against all of it. */
const ignoreMaxBytes = 32 * 1024;

/** `ignoreSteps`, if other than usual, is what `.dockerignore` may take; beyond it the stream fails. */
export async function buildContext(
  spec: Pick<ImageBuild, 'contextDir' | 'dockerfile'>,
  ignoreSteps?: number,
): Promise<BuildContext> {
  const { contextDir, dockerfile } = spec;
  const { pack } = await import('tar-fs');
  const text = 'text' in dockerfile ? dockerfile.text : null;
  const name =
    'path' in dockerfile
      ? await dockerfileIn(contextDir, dockerfile.path)
      : `.gangway-${randomBytes(8).toString('hex')}.Dockerfile`;
  const ignores = await ignoresOf(contextDir, name, ignoreSteps);
  let failure: Error | undefined;
  const tar = pack(contextDir, {
    ignore: (file) => {
      try {
        return ignores(path.relative(contextDir, file));
      } catch (error) {
        // Thrown here it would be nobody's; what walks the folder has to come out of this first.
        failure ??= error as Error;
        setImmediate(() => tar.destroy(failure));
        return true;
      }
    },
    // Whoever owns the files here is nobody in the image. No sockets and pipes.
    map: (header) => Object.assign(header, { uid: 0, gid: 0, mode: readable(header.mode) }),
    strict: false,
    finalize: false,
    finish: (unfinished) => {
      if (failure !== undefined) return;
      if (text !== null) unfinished.entry({ name, mode: 0o644 }, text);
      unfinished.finalize();
    },
  });
  const given = text ?? (await readFile(path.join(contextDir, name), 'utf8'));
  return { stream: Readable.from(tar, { objectMode: false }), dockerfile: name, text: given };
}

/** Here the files are their owner's alone; in an image any user reads them, as in a clone. */
function readable(mode: number): number {
  const others = mode & 0o500;
  return mode | (others >> 3) | (others >> 6);
}

async function dockerfileIn(contextDir: string, given: string): Promise<string> {
  const name = path.posix.normalize(given.replace(/^\.?\/+/, ''));
  const isInside = name !== '..' && !name.startsWith('../') && !path.isAbsolute(name);
  const found = isInside
    ? await stat(path.join(contextDir, name)).catch(() => undefined)
    : undefined;
  if (!found?.isFile()) {
    throw new ServiceError('IMAGE_BUILD_FAILED', `There is no Dockerfile at ${given}.`);
  }
  if (found.size > dockerfileMaxBytes) {
    throw new ServiceError('IMAGE_BUILD_FAILED', 'The Dockerfile is larger than 256 KiB.');
  }
  return name;
}

async function ignoresOf(
  contextDir: string,
  dockerfile: string,
  steps: number | undefined,
): Promise<Ignores> {
  const file = path.join(contextDir, '.dockerignore');
  // A link may lead to what has no end.
  const found = await lstat(file).catch(() => undefined);
  if (!found?.isFile() || found.size === 0) return () => false;
  if (found.size > ignoreMaxBytes) {
    throw new ServiceError('IMAGE_BUILD_FAILED', '.dockerignore is larger than 32 KiB.');
  }
  const rules = new DockerIgnore(await readFile(file, 'utf8'), steps);
  const needed = new Set(['', '.dockerignore', dockerfile]);
  return (name) => !needed.has(name) && !dockerfile.startsWith(`${name}/`) && rules.leavesOut(name);
}

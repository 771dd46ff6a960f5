/**
 * Owns what a build is given of a folder: a tar stream, made as the daemon takes it.
 *
 * 1. What the folder's `.dockerignore` names is not sent, nor followed: a link goes as a link.
 * 2. A Dockerfile given as text is sent beside the folder's files and never written into the folder.
 */
import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';

import { ServiceError } from '../../lib/errors.ts';
import type { ImageBuild } from '../driver.ts';

export interface BuildContext {
  stream: Readable;
  /** Its name within, and what it says. */
  dockerfile: string;
  text: string;
}

type Ignores = (name: string) => boolean;

export async function buildContext(
  spec: Pick<ImageBuild, 'contextDir' | 'dockerfile'>,
): Promise<BuildContext> {
  const { contextDir, dockerfile } = spec;
  const { pack } = await import('tar-fs');
  const text = 'text' in dockerfile ? dockerfile.text : null;
  const name =
    'path' in dockerfile
      ? await dockerfileIn(contextDir, dockerfile.path)
      : `.gangway-${randomBytes(8).toString('hex')}.Dockerfile`;
  const ignores = await ignoresOf(contextDir, name);
  const tar = pack(contextDir, {
    ignore: (file) => ignores(path.relative(contextDir, file)),
    // Whoever owns the files here is nobody in the image. No sockets and pipes.
    map: (header) => Object.assign(header, { uid: 0, gid: 0, mode: readable(header.mode) }),
    strict: false,
    finalize: text === null,
    finish: (unfinished) => {
      if (text === null) return;
      unfinished.entry({ name, mode: 0o644 }, text);
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
  return name;
}

async function ignoresOf(contextDir: string, dockerfile: string): Promise<Ignores> {
  const { default: dockerignore } = await import('@balena/dockerignore');
  const patterns = await readFile(path.join(contextDir, '.dockerignore'), 'utf8').catch(() => '');
  if (patterns.trim() === '') return () => false;
  // The types are of a module of the other kind.
  const create = dockerignore as unknown as (options: { ignorecase: boolean }) => {
    add(patterns: string): { ignores(name: string): boolean };
  };
  const rules = create({ ignorecase: false }).add(patterns);
  // An exception may lie anywhere below what is ignored: then every folder is looked through.
  const hasExceptions = /^\s*!/m.test(patterns);
  const needed = new Set(['', '.dockerignore', dockerfile]);
  return (name) => {
    if (needed.has(name) || dockerfile.startsWith(`${name}/`)) return false;
    if (!rules.ignores(name)) return false;
    return !hasExceptions || !isFolderOfException(name, patterns);
  };
}

/** Whether something below may be excepted, as far as the exception's fixed beginning tells. */
function isFolderOfException(name: string, patterns: string): boolean {
  return patterns.split('\n').some((line) => {
    const exception = /^\s*!\s*\/?(.*?)\/?\s*$/.exec(line)?.[1];
    if (exception === undefined) return false;
    const fixed = exception.split('/').slice(0, firstWild(exception.split('/')));
    const folders = name.split('/');
    const isBelow = folders.every((folder, at) => at >= fixed.length || folder === fixed[at]);
    // Deeper than an exception reaches when it names its path in full.
    return isBelow && (fixed.length > folders.length || firstWild(exception.split('/')) < Infinity);
  });
}

function firstWild(parts: readonly string[]): number {
  const at = parts.findIndex((part) => /[*?[]/.test(part));
  return at === -1 ? Infinity : at;
}

/**
 * Owns reading the payload of a delivery, which is a stranger's until it is checked: every value is of the
 * type, form and length that is asked for, or BAD_USER_INPUT says which one is not.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { PushDelivery, PushedCommit } from './provider.ts';

const textMax = 1_024;
const messageMax = 4_096;
const cloneUrlsMax = 4;
/** GitHub tells of 2,048 commits, and then of no more. */
const commitsMax = 2_048;
const filesMax = 10_000;
/** `owner/name`, groups within groups too, as GitLab has them. */
const repositoryPattern = /^[^\s/\p{Cc}]+(\/[^\s/\p{Cc}]+)+$/u;
const commitPattern = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

function bad(sentence: string): ServiceError {
  return new ServiceError('BAD_USER_INPUT', sentence);
}

export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch {
    // The parser's words hold a part of the body.
    throw bad('The body is no JSON. Let the webhook send application/json.');
  }
}

/** The value at a path of names and places; undefined where there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = (found as Record<string | number, unknown>)[name];
  }
  return found;
}

export function listAt(value: unknown, ...path: readonly string[]): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The text at a path, cut to a length; null where there is none. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  return typeof found === 'string' && found !== '' ? found.slice(0, textMax) : null;
}

/** The first of several texts. */
export function firstOf(...texts: readonly (string | null)[]): string | null {
  return texts.find((text) => text !== null) ?? null;
}

export function flagAt(value: unknown, ...path: readonly string[]): boolean {
  return at(value, ...path) === true;
}

/** A commit, hex; null for none and for zeros, by which git says that there is none. */
export function commitAt(value: unknown, ...path: readonly string[]): string | null {
  const found = at(value, ...path);
  if (found === undefined || found === null || found === '') return null;
  if (typeof found !== 'string' || !commitPattern.test(found)) {
    throw bad(`${path.join('.')} is no commit.`);
  }
  return /^0+$/.test(found) ? null : found;
}

export function repositoryAt(value: unknown, ...path: readonly string[]): string {
  return checkedRepository(textAt(value, ...path) ?? '', path.join('.'));
}

export function checkedRepository(name: string, what: string): string {
  const isName = repositoryPattern.test(name) && name.length < textMax;
  const parts = name.split('/');
  if (isName && !parts.some((part) => part === '.' || part === '..' || part.startsWith('-'))) {
    return name;
  }
  throw bad(`${what} is no full name of a repository, such as owner/name.`);
}

/** A ref such as `refs/heads/main`; null for one that is neither a branch nor a tag. */
export function refAt(value: unknown, ...path: readonly string[]): PushDelivery['ref'] | null {
  const ref = at(value, ...path);
  if (typeof ref !== 'string') throw bad(`${path.join('.')} is no ref.`);
  const [, space, name = ''] = /^refs\/(heads|tags)\/(.*)$/s.exec(ref) ?? [];
  if (space === undefined) return null;
  return checkedRef(space === 'heads' ? 'branch' : 'tag', name);
}

/** Names as git has them, without those that programs take for options. */
export function checkedRef(kind: 'branch' | 'tag', name: string): PushDelivery['ref'] {
  const isOdd =
    name === '' ||
    name.length > 255 ||
    /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|\.$|\/$|^\/|^-|^@$/u.test(name) ||
    name.split('/').some((part) => part.startsWith('.') || part.endsWith('.lock'));
  if (isOdd) throw bad(`The name of the ${kind} is none that git takes.`);
  return { kind, name };
}

/** A commit as most providers tell it. */
export function pushedCommit(value: unknown, message: unknown, time: unknown): PushedCommit | null {
  if (typeof message !== 'string') return null;
  const atMs = typeof time === 'string' ? Date.parse(time) : NaN;
  return {
    message: message.slice(0, messageMax),
    author: firstOf(textAt(value, 'author', 'name'), textAt(value, 'author', 'username')),
    atMs: Number.isNaN(atMs) ? null : atMs,
  };
}

/**
 * The files that the commits of a push changed, as GitHub made it known; null where one of the commits is not there, or
 * does not say. `total`: how many commits there are, where that is told.
 */
export function filesOf(commits: readonly unknown[], total: unknown): string[] | null {
  const isWhole = commits.length > 0 && commits.length < commitsMax;
  if (!isWhole || (typeof total === 'number' && total !== commits.length)) return null;
  const files = new Set<unknown>();
  for (const commit of commits) {
    for (const kind of ['added', 'modified', 'removed']) {
      const list = at(commit, kind);
      if (!Array.isArray(list) || files.size + list.length > filesMax) return null;
      for (const file of list as unknown[]) files.add(file);
    }
  }
  const named = [...files];
  return named.every((file) => typeof file === 'string') ? named : null;
}

/** Those of the values that are addresses. */
export function cloneUrlsOf(...values: readonly unknown[]): string[] {
  const urls = values.filter((value) => typeof value === 'string' && value.length <= textMax);
  return [...new Set(urls as string[])].slice(0, cloneUrlsMax);
}

export function eventOf(ref: PushDelivery['ref'], after: string | null): PushDelivery['event'] {
  if (after === null) return 'delete';
  return ref.kind === 'tag' ? 'tag' : 'push';
}

/** The header, cut to a length; null when absent. */
export function headerText(given: string): string | null {
  return given === '' ? null : given.slice(0, 255);
}

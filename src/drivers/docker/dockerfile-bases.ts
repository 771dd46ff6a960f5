/**
 * Owns which images a Dockerfile takes from, by FROM, COPY --from and RUN --mount=from=, what it takes
 * from the network by ADD, and which other program it wants to be read by.
 *
 * 1. A file is a stranger's, and builders of several versions read it by rules of their own. So each
 *    line that may begin an instruction for one of them is looked at as one: better something too
 *    much than an image that was not seen.
 */
import { ServiceError } from '../../lib/errors.ts';
import { flagsOf, valuesOf, wordsOf } from './dockerfile-words.ts';
import type { Escape } from './dockerfile-words.ts';

export interface Takings {
  /** Names of images, without those that are stages of the file itself. */
  bases: readonly string[];
  /** Addresses, and those of repositories. */
  urls: readonly string[];
}

interface Reading {
  given: Readonly<Record<string, string>>;
  escape: Escape;
  args: Map<string, readonly string[]>;
  /** Names of stages so far. */
  stages: Set<string>;
  /** How many there are, named or not. */
  count: number;
  bases: Set<string>;
  urls: Set<string>;
}

interface Line {
  text: string;
  /** An instruction begins here, as builders read from the top. */
  begins: boolean;
}

/** Lines that are joined are read again for each that may begin something. */
const readMaxChars = 16 * 1024 * 1024;
/** `FROM` may stand in as many lines as it has letters. */
const keywordMax = 8;
const keywords: ReadonlySet<string> = new Set(['arg', 'from', 'copy', 'add', 'run', 'onbuild']);

/** Throws IMAGE_BUILD_FAILED for what is not understood. */
export function takingsOf(
  dockerfile: string,
  buildArgs: Readonly<Record<string, string>>,
): Takings {
  const bases = new Set<string>();
  const urls = new Set<string>();
  const common = { given: buildArgs, bases, urls };
  for (const escape of escapesOf(dockerfile)) {
    const own = { args: new Map<string, readonly string[]>(), stages: new Set<string>(), count: 0 };
    readAll({ ...common, ...own, escape }, dockerfile);
  }
  return { bases: [...bases], urls: [...urls] };
}

/** Which character continues lines; both, where builders differ in whether a remark says it. */
function escapesOf(dockerfile: string): Escape[] {
  let isSure = true;
  for (const line of dockerfile.replace(/^\uFEFF/, '').split('\n')) {
    const at = line.indexOf('=');
    const name = /^\s*#\s*([A-Za-z][A-Za-z0-9]*)\s*$/.exec(line.slice(0, Math.max(at, 0)))?.[1];
    if (name === undefined) break;
    isSure &&= line.startsWith('#') && /^(escape|syntax|check)$/i.test(name);
    if (name.toLowerCase() !== 'escape' || line.slice(at + 1).trim() !== '`') continue;
    return isSure ? ['`'] : ['\\', '`'];
  }
  return ['\\'];
}

/** Whether the builder may take this for the beginning of an image's id, whoever's it is. */
export function mayBeId(image: string): boolean {
  return /^(sha256:)?[0-9a-f]{1,64}$/i.test(image);
}

/** The image of the program that is to read the file instead of the builder itself; null: none. */
export function frontendOf(dockerfile: string): string | null {
  if (/^\s*\{/.test(dockerfile)) return 'JSON';
  for (const line of dockerfile.replace(/^\uFEFF/, '').split('\n')) {
    if (!/^[\s\u0085]*(#|\/\/|$)/.test(line)) return null;
    const [, syntax] = /^[\s\u0085]*(?:#|\/\/)\s*syntax\s*=\s*(\S+)/i.exec(line) ?? [];
    if (syntax !== undefined) return syntax;
  }
  return null;
}

function readAll(reading: Reading, dockerfile: string): void {
  const lines = dockerfile.replace(/^\uFEFF/, '').split('\n');
  let begins = true;
  let left = readMaxChars;
  for (const [at, text] of lines.entries()) {
    if (isRemark(text)) continue; // Also between the parts of one instruction.
    const from = begins;
    begins = continuation(text, reading.escape) === null;
    if (!from && !keywords.has(keywordOf(beginning(lines, at, reading.escape)))) continue;
    // Alone as well: what one builder joins, another may not.
    const whole = joined(lines, at, reading.escape);
    left -= whole.length;
    if (left < 0) throw notUnderstood('it is too long');
    for (const one of new Set([whole, text])) {
      read(reading, { text: one, begins: from && one === whole });
    }
  }
}

function isRemark(line: string): boolean {
  return /^[\s\u0085]*(#|$)/.test(line);
}

/** The line without its escape at the end; null where it has none. */
function continuation(line: string, escape: Escape): string | null {
  let end = line.length;
  while (end > 0 && /[\s\u0085]/.test(line.charAt(end - 1))) end--;
  return line.charAt(end - 1) === escape ? line.slice(0, end - 1) : null;
}

/** Enough of what is joined to see which instruction it is. */
function beginning(lines: readonly string[], at: number, escape: Escape): string {
  return joined(lines, at, escape, keywordMax);
}

function joined(lines: readonly string[], from: number, escape: Escape, most = Infinity): string {
  const parts: string[] = [];
  for (let at = from; at < lines.length && parts.length < most; at++) {
    const line = lines[at] ?? '';
    if (at > from && isRemark(line)) continue;
    const part = continuation(line, escape);
    parts.push(part ?? line);
    if (part === null) break;
  }
  return parts.join('');
}

/** In lower case, as builders have it. */
function keywordOf(line: string): string {
  const [word = ''] = /[^\s\u0085]+/.exec(line) ?? [];
  return word.replaceAll('\u0130', 'i').toLowerCase();
}

function read(reading: Reading, { text, begins }: Line): void {
  const keyword = keywordOf(text);
  const behind = text.slice(text.search(/[^\s\u0085]/) + keyword.length);
  switch (keyword) {
    case 'arg':
      if (begins) readArgs(reading, behind);
      break;
    case 'from':
      readFrom(reading, behind, begins);
      break;
    case 'copy':
    case 'add':
    case 'run':
      readFlags(reading, behind);
      if (keyword === 'add') readUrls(reading, behind);
      break;
    case 'onbuild':
      read(reading, { text: behind, begins: false });
      break;
    default:
  }
}

function readArgs({ args, count, given, escape }: Reading, behind: string): void {
  // Those of a stage are no part of what it starts from.
  if (count > 0) return;
  for (const word of wordsOf(flagsOf(behind).rest, escape)) {
    const at = word.indexOf('=');
    const name = at === -1 ? word : word.slice(0, at);
    const own = at === -1 ? [] : valuesOf(word.slice(at + 1), escape, args);
    if (own === null) throw notUnderstood(`ARG ${name}`);
    const others = args.get(name) ?? [];
    const set = Object.hasOwn(given, name) ? [given[name] ?? ''] : own;
    // Where it is set twice, builders differ in which one counts.
    if (set.length > 0) args.set(name, [...new Set([...set, ...others])]);
  }
}

function readFrom(reading: Reading, behind: string, begins: boolean): void {
  const { stages, args, escape, bases } = reading;
  const words = flagsOf(behind)
    .rest.split(/[\s\u0085]+/)
    .filter((word) => word !== '');
  const [image = '', as = '', name = ''] = words;
  // Else it is none for any builder; `from abc import x` stands in scripts.
  if (words.length !== 1 && !(words.length === 3 && as.toLowerCase() === 'as')) return;
  const all = image === '' ? [] : valuesOf(image, escape, args);
  if (all === null || all.some((base) => !/^[\w.:/@-]*$/.test(base))) {
    if (begins) throw notUnderstood(`FROM ${image}`);
    return;
  }
  for (const base of all) {
    if (base !== '' && base !== 'scratch' && !stages.has(base.toLowerCase())) bases.add(base);
  }
  if (!begins) return;
  if (as.toLowerCase() === 'as') stages.add(name.toLowerCase());
  reading.count++;
}

function readFlags({ stages, count, bases, args, escape }: Reading, behind: string): void {
  for (const flag of flagsOf(behind).flags) {
    const [, mount, from] = /^--(?:mount=([^]*)|from=([^]*))$/i.exec(flag) ?? [];
    const fields = mount?.replaceAll('"', '').split(',') ?? [];
    const named = fields.flatMap((field) => /^\s*from\s*=([^]*)$/i.exec(field)?.[1] ?? []);
    const written = from === undefined ? named : [from];
    const filled = written.flatMap((image) => valuesOf(image, escape, args) ?? []);
    for (const image of new Set([...written, ...filled])) {
      const isStage =
        stages.has(image.toLowerCase()) || (/^\d+$/.test(image) && Number(image) < count);
      if (image !== '' && image !== 'scratch' && !isStage) bases.add(image);
    }
  }
}

function readUrls({ urls, escape, args }: Reading, behind: string): void {
  const { rest } = flagsOf(behind);
  const words = wordsOf(rest.replace(/^\s*\[|\]\s*$/g, '').replaceAll(/",\s*"/g, '" "'), escape);
  for (const word of words) {
    for (const value of valuesOf(word, escape, args) ?? [word]) {
      if (/^[a-z][a-z+]*:\/\//i.test(value)) urls.add(value);
    }
  }
}

function notUnderstood(what: string): ServiceError {
  return new ServiceError(
    'IMAGE_BUILD_FAILED',
    `The Dockerfile is not understood: ${what.slice(0, 200)}`,
  );
}

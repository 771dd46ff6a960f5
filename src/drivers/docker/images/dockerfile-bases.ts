/**
 * Owns which images a Dockerfile takes from, by FROM, COPY --from and RUN --mount=from=, what it takes
 * from the network by ADD, and which other program it wants to be read by.
 *
 * 1. A file is a stranger's, and builders of several versions read it by rules of their own. So each
 *    line that may begin an instruction for one of them is looked at as one: better something too
 *    much than an image that was not seen.
 * 2. What a file costs is bounded, whatever it says: beyond that it is not understood.
 */
import { flagsOf, notUnderstood, Steps, valuesOf, waysMax, wordsOf } from './dockerfile-words.ts';
import type { Escape } from './dockerfile-words.ts';

export interface Takings {
  /** Names of images, without those that are stages of the file itself. */
  bases: readonly string[];
  /** Addresses, and those of repositories. */
  urls: readonly string[];
  stages: Stages;
}

export interface Stages {
  names: ReadonlySet<string>;
  /** How many there are, named or not. */
  count: number;
}

interface Reading {
  given: Readonly<Record<string, string>>;
  escape: Escape;
  continues: Continues;
  steps: Steps;
  /** Those that a base's name may have: of no stage. */
  args: Map<string, readonly string[]>;
  /** All that variables within stages may be. */
  variables: Map<string, readonly string[]>;
  /** Names of stages so far. */
  stages: Set<string>;
  count: number;
  bases: Set<string>;
  urls: Set<string>;
}

/** Which escapes at the end of a line builders take for its continuation. */
type Continues =
  /** With any white space behind it. */
  | 'wide'
  /** With blanks behind it. */
  | 'plain'
  /** And no other before it. */
  | 'single';

interface Line {
  text: string;
  /** An instruction begins here, as builders read from the top. */
  begins: boolean;
}

/** Lines that are joined are read again for each that may begin something. */
const stepsMax = 32 * 1024 * 1024;
/** `FROM` may stand in as many lines as it has letters. */
const keywordMax = 8;
const keywords: ReadonlySet<string> = new Set([
  ...['arg', 'env', 'from', 'copy', 'add', 'run', 'onbuild'],
]);
/** What Docker takes as the name of a stage: none that an image has with its tag. */
const stageName = /^[a-z][a-z0-9._-]*$/;
/** Stands in a variable's value for what is not known of it. */
const unknown = '\0';
const noStages: Stages = { names: new Set(), count: 0 };

/**
 * `before` are the stages of the file that takes this in, if it is none by itself. Throws
 * IMAGE_BUILD_FAILED for what is not understood.
 */
export function takingsOf(
  dockerfile: string,
  buildArgs: Readonly<Record<string, string>>,
  before: Stages = noStages,
): Takings {
  const bases = new Set<string>();
  const urls = new Set<string>();
  const common = { given: buildArgs, bases, urls, steps: new Steps(stepsMax) };
  const all = dockerfile.replace(/^\uFEFF/, '').split('\n');
  // Remarks are left out also between the parts of one instruction.
  const lines = all.filter((line) => !isRemark(line));
  const readings = escapesOf(dockerfile).flatMap((escape) =>
    waysToContinue(lines, escape).map((continues) => {
      const own = { escape, continues, stages: new Set(before.names), count: before.count };
      const reading: Reading = { ...common, ...own, args: new Map(), variables: new Map() };
      readAll(reading, lines);
      return reading;
    }),
  );
  return { bases: [...bases], urls: [...urls], stages: stagesOf(readings) };
}

/** Those that each builder knows. */
function stagesOf(readings: readonly Reading[]): Stages {
  const [first, ...others] = readings;
  const names = [...(first?.stages ?? [])].filter((name) =>
    others.every(({ stages }) => stages.has(name)),
  );
  return { names: new Set(names), count: Math.min(...readings.map(({ count }) => count)) };
}

/** Without those that come to the same in these lines. */
function waysToContinue(lines: readonly string[], escape: Escape): Continues[] {
  const ways: Continues[] = ['wide', 'plain', 'single'];
  return ways.filter((way, at) => {
    const before = ways[at - 1];
    return (
      before === undefined ||
      lines.some((line) => continuation(line, escape, way) !== continuation(line, escape, before))
    );
  });
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

function readAll(reading: Reading, lines: readonly string[]): void {
  let begins = true;
  for (const [at, text] of lines.entries()) {
    const from = begins;
    begins = continuation(text, reading.escape, reading.continues) === null;
    if (!from && !keywords.has(keywordOf(joined(reading, lines, at, keywordMax)))) continue;
    // Alone as well: what one builder joins, another may not.
    const whole = joined(reading, lines, at);
    for (const one of new Set([whole, text])) {
      read(reading, { text: one, begins: from && one === whole });
    }
  }
}

function isRemark(line: string): boolean {
  return /^[\s\u0085]*(#|$)/.test(line);
}

/** The line without its escape at the end; null where it has none. */
function continuation(line: string, escape: Escape, continues: Continues): string | null {
  const blank = continues === 'wide' ? /[\s\u0085]/ : /[ \t\r]/;
  let end = line.length;
  while (end > 0 && blank.test(line.charAt(end - 1))) end--;
  if (line.charAt(end - 1) !== escape) return null;
  if (continues === 'single' && line.charAt(end - 2) === escape) return null;
  return line.slice(0, end - 1);
}

/** With so many parts at most that say something. */
function joined(
  { escape, continues, steps }: Reading,
  lines: readonly string[],
  from: number,
  most = Infinity,
): string {
  const parts: string[] = [];
  for (let at = from; at < lines.length && parts.length < most; at++) {
    const line = lines[at] ?? '';
    steps.take(line.length + 1);
    const part = continuation(line, escape, continues);
    if (part !== '') parts.push(part ?? line);
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
      readVariables(reading, behind, reading.given);
      break;
    case 'env':
      readVariables(reading, behind, {});
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

function readArgs(reading: Reading, behind: string): void {
  const { args, count, given, escape } = reading;
  // Those of a stage are no part of what it starts from.
  if (count > 0) return;
  for (const word of wordsOf(flagsOf(behind).rest, escape)) {
    const at = word.indexOf('=');
    const name = at === -1 ? word : word.slice(0, at);
    const own = at === -1 ? [] : valuesOf(word.slice(at + 1), { ...reading, values: args });
    if (own === null) throw notUnderstood(`ARG ${name}`);
    const others = args.get(name) ?? [];
    const set = Object.hasOwn(given, name) ? [given[name] ?? ''] : own;
    // Where it is set twice, builders differ in which one counts.
    const all = [...new Set([...set, ...others])];
    if (all.length > waysMax) throw notUnderstood(`ARG ${name}, which has too many values`);
    if (set.length > 0) args.set(name, all);
  }
}

/** Of ARG and ENV in whichever stage: one may be anywhere what it is somewhere, or nothing. */
function readVariables(reading: Reading, behind: string, given: Reading['given']): void {
  const { variables, escape } = reading;
  const words = wordsOf(flagsOf(behind).rest, escape);
  const [first = '', ...others] = words;
  // `ENV name value` in the old way.
  const isOld = !first.includes('=') && others.length > 0;
  for (const word of isOld ? [`${first}=${others.join(' ')}`, ...words] : words) {
    const at = word.indexOf('=');
    const name = at === -1 ? word : word.slice(0, at);
    const own = at === -1 ? [] : valuesOf(word.slice(at + 1), { ...reading, values: variables });
    const set = Object.hasOwn(given, name) ? [given[name] ?? ''] : (own ?? [unknown]);
    const all = [...new Set(['', ...(variables.get(name) ?? []), ...set])];
    // Paths are put before themselves again and again.
    if (all.length > 1) variables.set(name, all.length > waysMax ? ['', unknown] : all);
  }
}

function readFrom(reading: Reading, behind: string, begins: boolean): void {
  const { stages, args, bases } = reading;
  const words = flagsOf(behind)
    .rest.split(/[\s\u0085]+/)
    .filter((word) => word !== '');
  const [image = '', as = '', name = ''] = words;
  // Else it is none for any builder; `from abc import x` stands in scripts.
  if (words.length !== 1 && !(words.length === 3 && as.toLowerCase() === 'as')) return;
  const all = valuesOf(image, { ...reading, values: args });
  const named = all?.filter((base) => /^[\w.:/@-]*$/.test(base)) ?? [];
  if (all === null || named.length < all.length) {
    // What begins here is not always known; plain text that is no name is none for any builder.
    const mayName = begins ? /[$"'\\`]/.test(image) : all === null && image.includes('$');
    if (mayName) throw notUnderstood(`FROM ${image}`);
  }
  for (const base of named) {
    if (base !== '' && base !== 'scratch' && !stages.has(base.toLowerCase())) bases.add(base);
  }
  if (!begins || named.length === 0) return;
  const stage = name.toLowerCase();
  if (as.toLowerCase() === 'as' && stageName.test(stage)) stages.add(stage);
  reading.count++;
}

function readFlags(reading: Reading, behind: string): void {
  const { stages, count, bases, args } = reading;
  for (const flag of flagsOf(behind).flags) {
    const [, mount, from] = /^--(?:mount=([^]*)|from=([^]*))$/i.exec(flag) ?? [];
    const fields = mount?.replaceAll('"', '').split(',') ?? [];
    const named = fields.flatMap((field) => /^\s*from\s*=([^]*)$/i.exec(field)?.[1] ?? []);
    const written = from === undefined ? named : [from];
    const filled = written.flatMap((image) => valuesOf(image, { ...reading, values: args }) ?? []);
    for (const image of new Set([...written, ...filled])) {
      const isStage =
        stages.has(image.toLowerCase()) || (/^\d+$/.test(image) && Number(image) < count);
      if (image !== '' && image !== 'scratch' && !isStage) bases.add(image);
    }
  }
}

function readUrls(reading: Reading, behind: string): void {
  const { rest } = flagsOf(behind);
  for (const word of listOf(rest) ?? wordsOf(rest, reading.escape)) {
    const values = valuesOf(word, { ...reading, values: reading.variables });
    for (const value of values ?? [word.replace(/^["']/, '')]) {
      const isOpen = value.includes(values === null ? '$' : unknown);
      // Where it leads is written out all the same.
      const isPlain = /^[./]|^[a-z][a-z+]*:\/\/[\w.:-]+\//i.test(value);
      if (isOpen && !isPlain) throw notUnderstood(`ADD ${word}`);
      if (/^[a-z][a-z+]*:\/\//i.test(value)) reading.urls.add(value);
    }
  }
}

/** What stands in brackets, as JSON; what follows is nothing to builders. Null: it is no such list. */
function listOf(rest: string): string[] | null {
  const text = rest.trimStart();
  if (!text.startsWith('[')) return null;
  let isQuoted = false;
  for (let at = 1; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') isQuoted = !isQuoted;
    else if (char === '\\' && isQuoted) at++;
    else if (char === ']' && !isQuoted) return stringsOf(text.slice(0, at + 1));
  }
  return null;
}

function stringsOf(json: string): string[] | null {
  try {
    const list = JSON.parse(json) as unknown[];
    return list.every((one) => typeof one === 'string') ? list : null;
  } catch {
    return null; // It is read as words.
  }
}

/**
 * Owns what a Dockerfile takes from elsewhere: images by FROM, COPY --from and RUN --mount=from=,
 * addresses by ADD, and the program it wants to be read by.
 *
 * 1. It reads as builders do where a file is written as usual. A file can hide a name from it: nothing
 *    but the rules about addresses rests on it.
 * 2. It passes over the text once, and a value that grows beyond its bound counts as empty.
 */

export interface DockerfileSources {
  images: readonly string[];
  urls: readonly string[];
}

type Values = Map<string, string>;

/** Of a variable, and of all that a word is filled with. */
const valueMaxChars = 1024;
const backtickEscape = /^(?:#.*\n){0,50}?#\s*escape\s*=\s*`/i;
const variable = /\$(?:(\w{1,128})|\{(\w{1,128})(?:(:?[-+?])([^}]{0,512}))?\})/g;

export function sourcesOf(
  dockerfile: string,
  buildArgs: Readonly<Record<string, string>>,
): DockerfileSources {
  const images = new Set<string>();
  const urls = new Set<string>();
  const values: Values = new Map();
  for (const instruction of instructionsOf(dockerfile)) {
    const [keyword, flags, words] = partsOf(instruction);
    const filled = words.map((word) => fill(word, values));
    switch (keyword) {
      case 'FROM':
        if (filled[0] !== undefined) images.add(filled[0]);
        break;
      case 'ARG':
      case 'ENV':
        for (const [name, value] of assignmentsOf(filled)) {
          const given = keyword === 'ARG' ? buildArgs[name] : undefined;
          const set = given ?? value;
          if (set !== undefined) values.set(name, set.length > valueMaxChars ? '' : set);
        }
        break;
      case 'ADD':
        for (const word of filled) if (/^[a-z][a-z+]*:\/\//i.test(word)) urls.add(word);
        break;
      default:
    }
    for (const flag of flags) {
      const from = /^--(?:mount=(?:.*,)?\s*)?from=([^,]+)/is.exec(fill(flag, values))?.[1];
      if (from !== undefined) images.add(from);
    }
  }
  return { images: [...images], urls: [...urls] };
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

/** Each on one line. Comments may stand between the lines of one instruction. */
function instructionsOf(dockerfile: string): string[] {
  const escape = backtickEscape.test(dockerfile) ? '`' : '\\';
  const instructions: string[] = [];
  let parts: string[] = [];
  for (const line of dockerfile.replace(/^\uFEFF/, '').split('\n')) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    const goesOn = text.endsWith(escape);
    parts.push(goesOn ? text.slice(0, -1) : text);
    if (goesOn) continue;
    instructions.push(parts.join(''));
    parts = [];
  }
  return parts.length === 0 ? instructions : [...instructions, parts.join('')];
}

function partsOf(instruction: string): [keyword: string, flags: string[], words: string[]] {
  const [keyword = '', ...others] = wordsOf(instruction.replace(/^ONBUILD\s/i, '').trim());
  const behind = others.findIndex((word) => !word.startsWith('--'));
  const flags = others.slice(0, behind === -1 ? undefined : behind);
  return [keyword.toUpperCase(), flags, others.slice(flags.length)];
}

/** Without quotes and escapes; those of a JSON array are its strings. */
function wordsOf(text: string): string[] {
  const array = /^ADD\s[^[]*(\[.*\])$/is.exec(text)?.[1];
  const strings = array === undefined ? null : stringsIn(array);
  if (strings !== null) return ['ADD', ...strings];
  return text
    .replaceAll(/["'\\`]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '');
}

function stringsIn(json: string): string[] | null {
  try {
    const list = JSON.parse(json) as unknown[];
    return list.every((item) => typeof item === 'string') ? list : null;
  } catch {
    return null; // It is read as words.
  }
}

/** `name=value …`, `name` alone, or `ENV name value` in the old way. */
function assignmentsOf(words: readonly string[]): [name: string, value: string | undefined][] {
  const [first = '', ...others] = words;
  if (!first.includes('=') && others.length > 0) return [[first, others.join(' ')]];
  return words.map((word) => {
    const at = word.indexOf('=');
    return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
  });
}

function fill(word: string, values: Values): string {
  let left = valueMaxChars;
  const valueOf = (...[, plain, braced, how = '', other = '']: string[]): string => {
    const value = values.get(plain ?? braced ?? '') ?? '';
    left -= value.length;
    if (left < 0) return '';
    if (how.endsWith('+')) return value === '' ? '' : other;
    return value === '' && how.endsWith('-') ? other : value;
  };
  return word.replaceAll(variable, valueOf);
}

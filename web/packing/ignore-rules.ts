/**
 * Owns what of a folder is not sent: what its `.gitignore` files name, as git reads them, and what no build
 * wants from somebody's machine. Pure: it is told the text of each `.gitignore`.
 */

/** Never sent, wherever it lies: the build installs what it needs by itself. */
const always: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '.venv',
  '__pycache__',
  '.DS_Store',
  'Thumbs.db',
]);

interface Rule {
  readonly matches: (path: string) => boolean;
  readonly keeps: boolean;
  readonly foldersOnly: boolean;
}

/** The rules that hold in one folder, with those of the folders above. */
export class IgnoreRules {
  static readonly none = new IgnoreRules([]);
  /** Of folders from the top down; later rules win. */
  readonly #layers: readonly { at: string; rules: readonly Rule[] }[];

  private constructor(layers: readonly { at: string; rules: readonly Rule[] }[]) {
    this.#layers = layers;
  }

  /** With the `.gitignore` of the folder `at`, which is '' or ends in a slash. */
  with(at: string, text: string): IgnoreRules {
    const rules = text.split(/\r?\n/).flatMap(ruleOf);
    return new IgnoreRules([...this.#layers, { at, rules }]);
  }

  /** Whether a file or folder is left out; `path` as seen from the top, without a slash at its end. */
  leavesOut(path: string, isFolder: boolean): boolean {
    if (always.has(path.slice(path.lastIndexOf('/') + 1))) return true;
    for (const { at, rules } of this.#layers.toReversed()) {
      const within = path.slice(at.length);
      const last = rules.findLast(
        ({ matches, foldersOnly }) => (isFolder || !foldersOnly) && matches(within),
      );
      if (last !== undefined) return !last.keeps;
    }
    return false;
  }
}

function ruleOf(line: string): Rule[] {
  let text = line.replace(/(?<!\\) +$/, '');
  if (text === '' || text.startsWith('#')) return [];
  const keeps = text.startsWith('!');
  if (keeps) text = text.slice(1);
  const foldersOnly = text.endsWith('/');
  if (foldersOnly) text = text.slice(0, -1);
  const isAnchored = text.includes('/');
  text = text.replace(/^\//, '');
  if (text === '') return [];
  const parts = text.split('/').map(partOf);
  const matches = (path: string): boolean =>
    isAnchored
      ? matchesParts(parts, path.split('/'))
      : matchesPart(parts[0] ?? any, path.slice(path.lastIndexOf('/') + 1));
  return [{ matches, keeps, foldersOnly }];
}

/** `**`, or what one name has to look like: single characters, sets of them, and `*`. */
type Part = '**' | readonly Piece[];
type Piece = '*' | ((character: string) => boolean);
const any: Part = ['*'];

function partOf(text: string): Part {
  if (text === '**') return '**';
  const pieces: Piece[] = [];
  const characters = Array.from(text);
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? '';
    if (character === '*') {
      if (pieces.at(-1) !== '*') pieces.push('*');
    } else if (character === '?') pieces.push(() => true);
    else if (character === '[') {
      const end = characters.indexOf(']', at + 2);
      if (end === -1) pieces.push((one) => one === '[');
      else {
        pieces.push(setOf(characters.slice(at + 1, end)));
        at = end;
      }
    } else {
      const wanted = character === '\\' ? (characters[(at += 1)] ?? '\\') : character;
      pieces.push((one) => one === wanted);
    }
  }
  return pieces;
}

function setOf(characters: readonly string[]): (character: string) => boolean {
  const isNegated = characters[0] === '!' || characters[0] === '^';
  const rest = isNegated ? characters.slice(1) : characters;
  const isIn = (one: string): boolean =>
    rest.some((from, at) => {
      const to = rest[at + 1] === '-' ? rest[at + 2] : undefined;
      return to === undefined ? one === from : one >= from && one <= to;
    });
  return (one) => isIn(one) !== isNegated;
}

/** In steps of names times parts: no pattern can make it take long. */
function matchesParts(parts: readonly Part[], names: readonly string[]): boolean {
  return walk(names.length, parts.length, (step, at) => {
    const part = parts[step] ?? any;
    // At its end it names what is inside, and not the folder itself.
    if (part === '**') return step === parts.length - 1 ? 'more' : 'any';
    return matchesPart(part, names[at] ?? '') ? 'one' : 'none';
  });
}

function matchesPart(part: Part, name: string): boolean {
  if (part === '**') return true;
  const characters = Array.from(name);
  return walk(characters.length, part.length, (step, at) => {
    const piece = part[step];
    if (piece === '*') return 'any';
    return piece?.(characters[at] ?? '') === true ? 'one' : 'none';
  });
}

type Taken = 'none' | 'one' | 'any' | 'more';

/** Whether the steps lead from the start to the end; `take` says how much a step may take from there on. */
function walk(length: number, steps: number, take: (step: number, at: number) => Taken): boolean {
  let ends: readonly number[] = [0];
  for (let step = 0; step < steps; step += 1) {
    const next: number[] = [];
    for (const at of ends) {
      const taken = take(step, at);
      if (taken === 'one' && at < length) next.push(at + 1);
      if (taken === 'one' || taken === 'none') continue;
      // What takes any number from here takes it from all that come behind, too.
      for (let to = taken === 'any' ? at : at + 1; to <= length; to += 1) next.push(to);
      break;
    }
    ends = next;
  }
  return ends.at(-1) === length;
}

/**
 * Owns `${NAME}` in the values of a compose file, as in Compose: `$NAME`, `${NAME}`,
 * `${NAME:-default}`, `${NAME-default}`, `${NAME:?message}`, `${NAME?message}`, `${NAME:+replacement}`,
 * `${NAME+replacement}`, and `$$` for a dollar.
 *
 * 1. Only the app's own variables exist; our environment is not visible.
 * 2. Keys stay as they are. A value that is put in is not interpolated again.
 * 3. The total length of the values that are put in is limited.
 */
import { placeOf } from './document.ts';
import { WorkFailed } from '../../workload/work-failed.ts';

export type Variables = Readonly<Record<string, string>>;

const name = /^[A-Za-z_]\w*/;
const nestedMax = 8;
const filledMaxChars = 1024 * 1024;
/** A shorter value tells nothing, and occurs in any sentence. */
const hiddenMinChars = 3;

interface Filling {
  variables: Variables;
  used: Set<string>;
  /** How many more characters variables may put in. */
  left: number;
}

/** Puts variables into values. A variable that is not set becomes the empty text. Throws WorkFailed. */
export function interpolate(
  value: unknown,
  variables: Variables,
  used = new Set<string>(),
): unknown {
  return walk(value, [], { variables, used, left: filledMaxChars });
}

/** The sentence without the values of these variables, because a value may be a secret of the app. */
export function withoutValues(
  sentence: string,
  variables: Variables,
  names: ReadonlySet<string>,
): string {
  const told = [...names].filter((key) => (variables[key]?.length ?? 0) >= hiddenMinChars);
  told.sort((one, other) => (variables[other]?.length ?? 0) - (variables[one]?.length ?? 0));
  return told.reduce(
    (text, key) => text.replaceAll(variables[key] ?? '', () => `\${${key}}`),
    sentence,
  );
}

function walk(value: unknown, path: PropertyKey[], filling: Filling): unknown {
  if (typeof value === 'string') {
    // No program and no variable can contain a NUL.
    if (value.includes('\0')) throw new WorkFailed(`${placeOf(path)} contains a NUL.`);
    return value.includes('$') ? fill(value, path, filling, 0) : value;
  }
  if (Array.isArray(value)) return value.map((one, i) => walk(one, [...path, i], filling));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, walk(one, [...path, key], filling)]),
  );
}

function fill(text: string, path: PropertyKey[], filling: Filling, depth: number): string {
  if (depth > nestedMax) throw new WorkFailed(`${placeOf(path)} nests variables too deep.`);
  let filled = '';
  let at = 0;
  for (;;) {
    const dollar = text.indexOf('$', at);
    if (dollar === -1) return filled + text.slice(at);
    filled += text.slice(at, dollar);
    const rest = text.slice(dollar + 1);
    const plain = name.exec(rest)?.[0];
    if (rest.startsWith('$')) {
      filled += '$';
      at = dollar + 2;
    } else if (plain !== undefined) {
      filled += valueOf(plain, path, filling) ?? '';
      at = dollar + 1 + plain.length;
    } else if (rest.startsWith('{')) {
      const end = closing(text, dollar + 2, path);
      filled += expand(text.slice(dollar + 2, end), path, filling, depth);
      at = end + 1;
    } else {
      throw new WorkFailed(`${placeOf(path)} has a "$" that names no variable; write "$$".`);
    }
  }
}

/** The position where the brace that opened before `from` closes. */
function closing(text: string, from: number, path: PropertyKey[]): number {
  let open = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{' && text[at - 1] === '$') open++;
    else if (text[at] === '}' && --open === 0) return at;
  }
  throw new WorkFailed(`${placeOf(path)} has a "\${" that is not closed.`);
}

function valueOf(key: string, path: PropertyKey[], filling: Filling): string | undefined {
  const { variables } = filling;
  const value = Object.hasOwn(variables, key) ? variables[key] : undefined;
  if (value === undefined) return undefined;
  filling.used.add(key);
  filling.left -= value.length;
  if (filling.left < 0)
    throw new WorkFailed(`${placeOf(path)} brings in more than 1 MiB of variables.`);
  return value;
}

function expand(inside: string, path: PropertyKey[], filling: Filling, depth: number): string {
  const key = name.exec(inside)?.[0] ?? '';
  const [, colon, operator, word = ''] = /^(:?)([-?+])([^]*)$/.exec(inside.slice(key.length)) ?? [];
  if (key === '' || (operator === undefined && key.length !== inside.length)) {
    throw new WorkFailed(`${placeOf(path)} has "\${${inside}}", which names no variable.`);
  }
  const value = valueOf(key, path, filling);
  const isThere = value !== undefined && !(colon === ':' && value === '');
  const other = (): string => fill(word, path, filling, depth + 1);
  switch (operator) {
    case '-':
      return isThere ? value : other();
    case '+':
      return isThere ? other() : '';
    case '?':
      if (isThere) return value;
      throw new WorkFailed(`${placeOf(path)} needs the variable ${key}: ${other() || 'not set'}.`);
    default:
      return value ?? '';
  }
}

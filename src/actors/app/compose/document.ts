/**
 * Owns reading a compose file: YAML 1.2 with merge keys, as plain data.
 *
 * 1. Nothing is fetched, included or constructed: tags other than YAML's own are refused.
 * 2. Reading ends soon, whatever the text: the size of what aliases expand to is counted before they
 *    expand.
 */
import type * as Yaml from 'yaml';
import { WorkFailed } from '../../workload/work-failed.ts';

const depthMax = 32;
const valuesMax = 20_000;
/**
 * Limits line ends, commas and colons. The count ignores quotes and comments, so the limit is well
 * above real files.
 */
const marksMax = 16_000;
const bracketsMax = 256;
/** Matches many nested lists or keys on one line. */
const levelsOnLine = /(?:[-?][ \t]+){64}/;

/** The document as plain data. Rejects with WorkFailed. */
export async function readDocument(text: string): Promise<unknown> {
  checkText(text);
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  // The survey compares the keys: the parser would compare each key with all before it.
  const options = { merge: true, uniqueKeys: false, lineCounter: lines, prettyErrors: false };
  const document = yaml.parseDocument(text, options);
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) throw new WorkFailed(sentenceOf(wrong, lines));
  if (document.contents === null) throw new WorkFailed('compose is empty.');
  new Survey(yaml, lines).look(document.contents);
  return plainOf(document);
}

/** Refuses texts that would keep the parser busy for seconds. */
function checkText(text: string): void {
  if (levelsOnLine.test(text)) throw new WorkFailed('compose is nested too deep.');
  let marks = 0;
  let open = 0;
  for (const char of text) {
    if (char === '\n' || char === ',' || char === ':') marks++;
    else if (char === '[' || char === '{') open++;
    else if (char === ']' || char === '}') open = Math.max(0, open - 1);
    if (open > bracketsMax) throw new WorkFailed('compose is nested too deep.');
  }
  if (marks > marksMax) throw new WorkFailed('compose has too many values.');
}

function plainOf(document: Yaml.Document.Parsed): unknown {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: -1 });
  } catch (error) {
    throw new WorkFailed('compose merges what is no map.', { cause: error });
  }
  checkDepth(value, []);
  return value;
}

function sentenceOf(error: Yaml.YAMLError, lines: Yaml.LineCounter): string {
  if (error.code === 'MULTIPLE_DOCS') return 'compose must be one YAML document.';
  const [sentence = 'unreadable'] = error.message.split('\n');
  // The parser calls itself for each level.
  if (sentence.includes('call stack')) return 'compose is nested too deep.';
  const { line } = lines.linePos(error.pos[0]);
  return `compose is not valid YAML: line ${String(line)}: ${sentence.replace(/[.:]$/, '')}.`;
}

/** Visits each node once. */
class Survey {
  readonly #yaml: typeof Yaml;
  readonly #lines: Yaml.LineCounter;
  /** How many values each anchor stands for, once the anchor is complete. */
  readonly #anchors = new Map<string, number>();

  constructor(yaml: typeof Yaml, lines: Yaml.LineCounter) {
    this.#yaml = yaml;
    this.#lines = lines;
  }

  /** Counts the values that a node expands to. Throws WorkFailed. */
  look(node: unknown): number {
    const { isAlias, isNode, isMap, isSeq } = this.#yaml;
    if (isAlias(node)) {
      const count = this.#anchors.get(node.source);
      if (count !== undefined) return count;
      throw new WorkFailed(`compose has an alias that leads nowhere, ${node.source}.`);
    }
    const anchor = isNode(node) && 'anchor' in node ? node.anchor : undefined;
    // An alias inside the node would mean the node itself, which then has no end.
    if (anchor !== undefined) this.#anchors.delete(anchor);
    let count = 1;
    const add = (inner: unknown): void => {
      count += this.look(inner);
      if (count > valuesMax) throw new WorkFailed('compose has too many values.');
    };
    if (isSeq(node)) node.items.forEach(add);
    if (isMap(node)) {
      const keys = new Set<string>();
      for (const { key, value } of node.items) {
        this.#checkKey(key, keys);
        this.look(key);
        add(value);
      }
    }
    if (anchor !== undefined) this.#anchors.set(anchor, count);
    return count;
  }

  #checkKey(key: unknown, keys: Set<string>): void {
    const { isScalar } = this.#yaml;
    const name = isScalar(key) ? nameOf(key.value) : undefined;
    // A key must be text; `__proto__` would change the object itself.
    if (name === undefined || name === '__proto__') {
      throw new WorkFailed(`compose has a key in line ${this.#lineOf(key)} that is no name.`);
    }
    if (keys.has(name)) {
      throw new WorkFailed(`compose has the key ${name} twice, in line ${this.#lineOf(key)}.`);
    }
    keys.add(name);
  }

  #lineOf(key: unknown): string {
    return String(this.#lines.linePos((key as Yaml.Node | null)?.range?.[0] ?? 0).line);
  }
}

function nameOf(key: unknown): string | undefined {
  switch (typeof key) {
    case 'string':
      return key;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(key);
    case 'symbol':
      return key.description; // That of merging.
    default:
      return undefined;
  }
}

function checkDepth(value: unknown, path: PropertyKey[]): void {
  if (path.length > depthMax)
    throw new WorkFailed(`${placeOf(path.slice(0, 4))} is nested too deep.`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    checkDepth(inner, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}

/** The name of a place for people: `services.web.ports[0]`. */
export function placeOf(path: readonly PropertyKey[]): string {
  let place = '';
  for (const part of path) {
    if (typeof part === 'number') place += `[${String(part)}]`;
    else place += `${place === '' ? '' : '.'}${String(part)}`;
  }
  return place === '' ? 'compose' : place;
}

/**
 * Owns the tools there are, which of them a connection asked for, and their lists as ready bytes.
 *
 * 1. A list holds what the token can call of what its address asks for: the harmless first, else in
 *    the order of the catalog, so that the same token always sees the same bytes.
 * 2. A list is encoded once for each distinct set of tools; the sets are bounded.
 */
import type { Capability } from '../lib/capabilities.ts';
import { ServiceError } from '../lib/errors.ts';
import { readyBytes, ReadyResult } from '../protocol/json-rpc.ts';
import { type HeaderParam, headerParamsOf } from './header-value.ts';
import { type Effect, type Tool, type ToolGroup, toolGroups } from './tool.ts';

export interface CatalogOptions {
  tools: readonly Tool[];
  /** Ends the JSON of a result, with its brace. */
  tail: string;
  /** Milliseconds for which a client may keep the list. */
  listTtlMs?: number;
}

/** What the address of a connection asks for: `?tools=apps,logs`, `?tools=read`, `?readonly=1`. */
export interface Selection {
  /** The same for every spelling of one choice. */
  readonly key: string;
  has(tool: Tool): boolean;
}

const listsMax = 500;
const selectionsMax = 500;

export class Catalog {
  readonly #tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #headerParams: ReadonlyMap<Tool, readonly HeaderParam[]>;
  readonly #tail: string;
  readonly #listTtlMs: number;
  readonly #encoded = new Map<Tool, string>();
  readonly #lists = new Map<string, ReadyResult>();
  // The same sets come again and again, and to compare them costs more than to send the list.
  readonly #recent = new WeakMap<ReadonlySet<Capability>, WeakMap<Selection, ReadyResult>>();
  readonly #selections = new Map<string, Selection>();

  constructor({ tools, tail, listTtlMs = 60_000 }: CatalogOptions) {
    // Stable: within one effect the order of the catalog stays.
    this.#tools = [...tools].sort(
      (a, b) => Number(a.effect !== 'reads') - Number(b.effect !== 'reads'),
    );
    this.#byName = new Map(this.#tools.map((tool) => [tool.name, tool]));
    this.#headerParams = new Map(
      this.#tools.map((tool) => [tool, headerParamsOf(tool.input.schema)]),
    );
    this.#tail = tail;
    this.#listTtlMs = listTtlMs;
    if (this.#byName.size !== tools.length) throw new Error('Two tools have one name.');
  }

  find(name: string, selection: Selection): Tool | undefined {
    const tool = this.#byName.get(name);
    return tool && selection.has(tool) ? tool : undefined;
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The arguments of a tool that come in headers as well. */
  headerParams(tool: Tool): readonly HeaderParam[] {
    return this.#headerParams.get(tool) ?? [];
  }

  /** The tools that who holds these capabilities can call. */
  callable(held: ReadonlySet<Capability>, selection: Selection): Tool[] {
    return this.#tools.filter(
      (tool) => selection.has(tool) && (tool.needs === null || held.has(tool.needs)),
    );
  }

  /** The result of `tools/list`. */
  list(held: ReadonlySet<Capability>, selection: Selection): ReadyResult {
    const lists = this.#recent.get(held) ?? new WeakMap<Selection, ReadyResult>();
    const recent = lists.get(selection);
    if (recent) return recent;
    const list = this.#listOf(held, selection);
    this.#recent.set(held, lists.set(selection, list));
    return list;
  }

  #listOf(held: ReadonlySet<Capability>, selection: Selection): ReadyResult {
    const key = `${selection.key} ${[...held].sort().join()}`;
    const known = this.#lists.get(key);
    if (known) return known;
    const tools = this.callable(held, selection).map((tool) => this.#encode(tool));
    const json = `{"tools":[${tools.join()}],"ttlMs":${this.#listTtlMs},"cacheScope":"private",${this.#tail}`;
    const list = new ReadyResult(readyBytes(json));
    if (this.#lists.size >= listsMax) this.#lists.clear();
    this.#lists.set(key, list);
    return list;
  }

  /** What a query string chooses. Throws BAD_REQUEST for what names no group and no tool. */
  select(query: string): Selection {
    const known = this.#selections.get(query);
    if (known) return known;
    const selection = this.#parse(new URLSearchParams(query));
    if (this.#selections.size >= selectionsMax) this.#selections.clear();
    this.#selections.set(query, selection);
    return selection;
  }

  #parse(params: URLSearchParams): Selection {
    const named = namedIn(params);
    const unknown = named.find((name) => !this.#isChoice(name));
    if (unknown !== undefined) {
      throw new ServiceError(
        'BAD_REQUEST',
        `tools names no group or tool "${unknown.slice(0, 64)}"; groups are read, ${toolGroups.join(', ')}.`,
      );
    }
    const readOnly = isReadOnly(params);
    const groups = new Set(named);
    const all = groups.size === 0;
    return {
      key: `${String(readOnly)} ${[...groups].sort().join()}`,
      has: (tool) => {
        if (readOnly && tool.effect !== 'reads') return false;
        if (all || groups.has(tool.group) || groups.has(tool.name)) return true;
        return groups.has('read') && tool.effect === 'reads';
      },
    };
  }

  #isChoice(name: string): boolean {
    return name === 'read' || isGroup(name) || this.#byName.has(name);
  }

  #encode(tool: Tool): string {
    const known = this.#encoded.get(tool);
    if (known !== undefined) return known;
    const json = JSON.stringify({
      name: tool.name,
      description: tool.description,
      inputSchema: tool.input.schema,
      ...(tool.output && { outputSchema: tool.output }),
      annotations: annotationsOf(tool.effect, tool.idempotent),
    });
    this.#encoded.set(tool, json);
    return json;
  }
}

/** Whether an address asks for nothing but reading; what it says wrongly is judged later. */
export function asksToRead(params: URLSearchParams): boolean {
  const named = namedIn(params);
  if (named.length > 0 && named.every((name) => name === 'read')) return true;
  return valuesOf(params, 'readonly').some((value) => readOnlyWords.get(value) === true);
}

function namedIn(params: URLSearchParams): string[] {
  return valuesOf(params, 'tools')
    .flatMap((list) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Whoever says it anywhere means it. Throws BAD_REQUEST for what says neither. */
function isReadOnly(params: URLSearchParams): boolean {
  const words = valuesOf(params, 'readonly').map((value) => readOnlyWords.get(value));
  if (words.includes(undefined)) throw new ServiceError('BAD_REQUEST', 'readonly is 1 or 0.');
  return words.includes(true);
}

const readOnlyWords: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['', true],
  ['0', false],
  ['false', false],
]);

/** A name in other letters must not open what it was meant to close. */
function valuesOf(params: URLSearchParams, wanted: string): string[] {
  return [...params].flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
}

function isGroup(name: string): name is ToolGroup {
  return (toolGroups as readonly string[]).includes(name);
}

/** All four, since what is left out means destructive and open. */
function annotationsOf(effect: Effect, idempotent: boolean): Record<string, boolean> {
  return {
    readOnlyHint: effect === 'reads',
    destructiveHint: effect === 'destroys',
    idempotentHint: idempotent || effect === 'reads',
    openWorldHint: false,
  };
}

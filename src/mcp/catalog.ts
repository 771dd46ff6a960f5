/**
 * Owns the existing tools, the choice of tools for a connection, and the lists of them as ready bytes.
 *
 * 1. A list holds the tools that the address asks for and the token can call. Tools that only read come
 *    first; within a group the order of the catalog holds. So the same token always gets the same bytes.
 * 2. A list is encoded once for each set of tools. The number of sets is bounded.
 */
import type { Capability } from '../lib/capabilities.ts';
import { ServiceError } from '../lib/errors.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { readyBytes, ReadyResult } from '../protocol/json-rpc.ts';
import { type HeaderParam, headerParamsOf } from './header-value.ts';
import { type ToolGroup, toolGroups } from '../protocol/mcp-address.ts';
import type { Tool } from './tool.ts';

export interface CatalogOptions {
  tools: readonly Tool[];
  /** The end of a result's JSON, with its brace. */
  tail: string;
}

/** The choice in the address of a connection: `?tools=apps,logs`, `?tools=read`, `?readonly=1`. */
export interface Selection {
  has(tool: Tool): boolean;
}

interface Entry {
  readonly tool: Tool;
  /** The tool's JSON in a list. */
  readonly json: string;
  readonly headerParams: readonly HeaderParam[];
}

/** Milliseconds for which a client may keep a list. */
const listTtlMs = 60_000;
const keptMax = 1_000;

export class Catalog {
  /** By name, in the order of a list. */
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #tail: string;
  /** By the names of the tools in it. */
  readonly #lists = new RecentMap<ReadyResult>(keptMax);
  /** The result for the same two objects. Joining the names again would cost a tenth of a request. */
  readonly #recent = new WeakMap<ReadonlySet<Capability>, WeakMap<Selection, ReadyResult>>();
  /** By query string. */
  readonly #selections = new RecentMap<Selection>(keptMax);

  constructor({ tools, tail }: CatalogOptions) {
    // The sort is stable: within one effect the order of the catalog stays.
    const sorted = tools.toSorted(
      (a, b) => Number(a.effect !== 'reads') - Number(b.effect !== 'reads'),
    );
    this.#entries = new Map(sorted.map((tool) => [tool.name, entryOf(tool)]));
    this.#tail = tail;
    if (this.#entries.size !== tools.length) throw new Error('Two tools have one name.');
  }

  find(name: string, selection: Selection): Tool | undefined {
    const tool = this.#entries.get(name)?.tool;
    return tool && selection.has(tool) ? tool : undefined;
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** The arguments of a tool that come in headers as well. */
  headerParams(tool: Tool): readonly HeaderParam[] {
    return this.#entries.get(tool.name)?.headerParams ?? [];
  }

  /** The result of `tools/list` for a caller with these capabilities. */
  list(held: ReadonlySet<Capability>, selection: Selection): ReadyResult {
    const lists = this.#recent.get(held) ?? new WeakMap<Selection, ReadyResult>();
    const recent = lists.get(selection);
    if (recent) return recent;
    const shown = [...this.#entries.values()].filter(
      ({ tool }) => selection.has(tool) && (tool.needs === null || held.has(tool.needs)),
    );
    const names = shown.map(({ tool }) => tool.name).join(' ');
    const list = this.#lists.get(names) ?? this.#listOf(shown);
    this.#lists.set(names, list);
    this.#recent.set(held, lists.set(selection, list));
    return list;
  }

  #listOf(shown: readonly Entry[]): ReadyResult {
    const tools = shown.map(({ json }) => json);
    const json = `{"tools":[${tools.join()}],"ttlMs":${listTtlMs},"cacheScope":"private",${this.#tail}`;
    return new ReadyResult(readyBytes(json));
  }

  /** The choice in a query string. Throws BAD_REQUEST for a name that is no group and no tool. */
  select(query: string): Selection {
    const known = this.#selections.get(query);
    if (known) return known;
    const selection = this.#parse(new URLSearchParams(query));
    this.#selections.set(query, selection);
    return selection;
  }

  #parse(params: URLSearchParams): Selection {
    const named = new Set(namedIn(params));
    for (const name of named) {
      if (name === 'read' || isGroup(name) || this.#entries.has(name)) continue;
      throw new ServiceError(
        'BAD_REQUEST',
        `tools names no group or tool "${name.slice(0, 64)}"; groups are read, ${toolGroups.join(', ')}.`,
      );
    }
    const readOnly = isReadOnly(params);
    return {
      has: ({ name, group, effect }) => {
        if (readOnly && effect !== 'reads') return false;
        if (named.size === 0 || named.has(group) || named.has(name)) return true;
        return named.has('read') && effect === 'reads';
      },
    };
  }
}

function entryOf(tool: Tool): Entry {
  const json = JSON.stringify({
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input.schema,
    ...(tool.output && { outputSchema: tool.output }),
    // All four hints are given, because a missing hint means destructive, or open.
    annotations: {
      readOnlyHint: tool.effect === 'reads',
      destructiveHint: tool.effect === 'destroys',
      idempotentHint: tool.idempotent || tool.effect === 'reads',
      openWorldHint: false,
    },
  });
  return { tool, json, headerParams: headerParamsOf(tool.input.schema) };
}

/** Whether an address asks for reading tools only. Wrong values are refused later, by `select`. */
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

/**
 * One `true` among several values counts. Throws BAD_REQUEST for a value that is neither `true` nor
 * `false`.
 */
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

/** The values of a parameter in any case: `ReadOnly=1` must not leave everything open. */
function valuesOf(params: URLSearchParams, wanted: string): string[] {
  return [...params].flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
}

function isGroup(name: string): name is ToolGroup {
  return (toolGroups as readonly string[]).includes(name);
}

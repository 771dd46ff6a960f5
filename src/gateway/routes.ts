/**
 * Owns which handler a path and a method belong to.
 *
 * 1. A path is matched as it was sent. Decoding, `.`, `..`, a doubled or a trailing slash never turn a path
 *    into a route.
 * 2. A parameter is exactly one segment, decoded strictly. A segment that does not decode, or that decodes
 *    to a slash, a dot segment or a control character, matches nothing.
 * 3. A route at `everyPath` gets what no other matches, as the parameter `*`, except below `/api` and
 *    `/.well-known`: programs ask there, and are told that there is nothing.
 */
import type { Route } from './transport.ts';

export const everyPath = '/*';
const forPrograms = /^\/(api|\.well-known)(\/|$)/;

export type Match =
  | { kind: 'found'; route: Route; params: Readonly<Record<string, string>> }
  | { kind: 'otherMethod'; allow: string; path: string }
  | { kind: 'none' };

interface Entry {
  path: string;
  segments: string[];
  methods: Map<string, Route>;
  /** Matches without parameters, made once. */
  matches: Map<string, Match>;
}

const noParams: Readonly<Record<string, string>> = Object.freeze({});

export class RouteTable {
  readonly #fixed = new Map<string, Entry>();
  readonly #templates: Entry[] = [];
  #rest: Route | null = null;

  add(route: Route): void {
    if (route.path === everyPath) {
      this.#rest = route;
      return;
    }
    const entry = this.#entry(route.path);
    if (entry.methods.has(route.method)) {
      throw new Error(`Cannot add ${route.method} ${route.path}: it is there already`);
    }
    entry.methods.set(route.method, route);
  }

  match(method: string, path: string): Match {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed.matches.get(method) ?? choose(fixed, method, noParams);
    const segments = path.split('/');
    for (const entry of this.#templates) {
      if (!fits(entry, segments)) continue;
      const params = decode(entry, segments);
      return params === undefined ? { kind: 'none' } : choose(entry, method, params);
    }
    return this.#restOf(method, path);
  }

  #restOf(method: string, path: string): Match {
    const route = this.#rest;
    const isAsked = method === route?.method || (method === 'HEAD' && route?.head === true);
    if (route === null || !isAsked || forPrograms.test(path)) return { kind: 'none' };
    return { kind: 'found', route, params: { '*': path } };
  }

  #entry(path: string): Entry {
    const known = this.#fixed.get(path) ?? this.#templates.find((entry) => entry.path === path);
    if (known !== undefined) return known;
    const segments = path.split('/');
    const entry: Entry = { path, segments, methods: new Map(), matches: new Map() };
    if (segments.some(isParameter)) this.#templates.push(entry);
    else this.#fixed.set(path, entry);
    return entry;
  }
}

/**
 * The `Allow` value for a set of methods. OPTIONS, which browsers send
 * before requests from other origins, does nothing to the resource and is not named.
 */
function allow(entry: Entry): string {
  const methods = [...entry.methods.keys()].filter((method) => method !== 'OPTIONS');
  if (headOf(entry, 'HEAD') !== undefined) methods.push('HEAD');
  return methods.sort().join(', ');
}

function choose(entry: Entry, method: string, params: Readonly<Record<string, string>>): Match {
  const route = entry.methods.get(method) ?? headOf(entry, method);
  if (route !== undefined) {
    const match: Match = { kind: 'found', route, params };
    if (params === noParams) entry.matches.set(method, match);
    return match;
  }
  return { kind: 'otherMethod', allow: allow(entry), path: entry.path };
}

/** HEAD is answered for constant routes, whose GET opens nothing, and for those that say so. */
function headOf(entry: Entry, method: string): Route | undefined {
  const get = method === 'HEAD' ? entry.methods.get('GET') : undefined;
  return get?.constant !== undefined || get?.head === true ? get : undefined;
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':');
}

function fits({ segments: own }: Entry, segments: readonly string[]): boolean {
  if (own.length !== segments.length) return false;
  return own.every((one, i) => (isParameter(one) ? segments[i] !== '' : one === segments[i]));
}

function decode(
  { segments: own }: Entry,
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const params: Record<string, string> = {};
  for (const [i, name] of own.entries()) {
    if (!isParameter(name)) continue;
    const value = decodeSegment(segments[i] ?? '');
    if (value === undefined) return undefined;
    params[name.slice(1)] = value;
  }
  return params;
}

function decodeSegment(raw: string): string | undefined {
  let value: string;
  try {
    value = decodeURIComponent(raw);
  } catch {
    // Bad percent-encoding matches nothing.
    return undefined;
  }
  if (value === '.' || value === '..' || /[/\\\p{Cc}]/u.test(value)) return undefined;
  return value;
}

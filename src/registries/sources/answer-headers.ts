/** Owns what the headers of a registry's answer say of logins, further pages and limits. Pure. */
import type { IncomingHttpHeaders } from 'node:http';

/** Longer than any limit is worth waiting for: it is asked again then. */
const holdMaxMs = 3_600_000;

/** Where `WWW-Authenticate: Bearer` says that a login is (the token specification of the distribution); null: nowhere. */
export function challengeOf(header: string): string | null {
  const [, list] = /(?:^|,)\s*bearer\s+(.+)$/i.exec(header.slice(0, 4096)) ?? [];
  if (list === undefined) return null;
  const found = new Map<string, string>();
  for (const [, name = '', quoted, plain] of list.matchAll(
    /(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))/g,
  )) {
    found.set(name.toLowerCase(), quoted ?? plain ?? '');
  }
  const realm = found.get('realm') ?? '';
  if (!URL.canParse(realm)) return null;
  const url = new URL(realm);
  for (const name of ['service', 'scope']) {
    const value = found.get(name);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.href;
}

/** The next page of a `Link` (RFC 8288), on the same origin; null: there is none. */
export function nextLink(link: string, base: string): string | null {
  const [, target] = /<([^>]*)>\s*;[^,]*\brel\s*=\s*"?next\b/i.exec(link.slice(0, 4096)) ?? [];
  return target === undefined ? null : samePlace(target, base);
}

/** An address of the same origin; null for any other. */
export function samePlace(address: string, base: string): string | null {
  if (!URL.canParse(address, base)) return null;
  const url = new URL(address, base);
  return url.origin === new URL(base).origin ? url.href : null;
}

/** Seconds or a date (RFC 9110, 10.2.3); 0: it does not say. */
export function retryAfterMs(headers: IncomingHttpHeaders, nowMs = Date.now()): number {
  const text = headers['retry-after'] ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return bounded(ms);
}

/** How long nothing is left of a limit, by the `RateLimit` headers of registries; 0: something is. */
export function holdMsOf(headers: IncomingHttpHeaders, nowMs = Date.now()): number {
  const [remaining = '', window] = oneOf(
    headers,
    'ratelimit-remaining',
    'x-ratelimit-remaining',
  ).split(/;w=/);
  if (!/^\s*0+\s*$/.test(remaining)) return 0;
  const reset = Number(oneOf(headers, 'ratelimit-reset', 'x-ratelimit-reset') || (window ?? ''));
  // A reset is in seconds from now, or since the epoch.
  return bounded(reset > 1e9 ? reset * 1_000 - nowMs : reset * 1_000);
}

function oneOf(headers: IncomingHttpHeaders, ...names: readonly string[]): string {
  const value = names.map((name) => headers[name]).find((one) => one !== undefined);
  return String(value ?? '');
}

function bounded(ms: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), holdMaxMs) : 0;
}

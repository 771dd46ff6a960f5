/**
 * Owns what an app is told of its visitor (RFC 7239 and the fields before it).
 *
 * 1. The app learns of the visitor from the edge alone. What the visitor says of itself counts if it is a trusted
 *    proxy: the last address that is none, its protocol and its host.
 */
import { isIP } from 'node:net';

import type { InNetworks } from '../../lib/networks.ts';
import type { RequestHead } from './http1/request-head.ts';
import type { Origin } from './visit.ts';

const hostName = /^[\w.-]+(?::\d{1,5})?$|^\[[\da-f:.]+\](?::\d{1,5})?$/i;

/** By what the visitor came. */
export function protoOf({ forwarded }: RequestHead, origin: Origin, isTrusted: InNetworks): string {
  if (forwarded === undefined || !isTrusted(origin.address)) return origin.proto;
  const proto = lastOf(forwarded.proto).toLowerCase();
  return proto === 'https' || proto === 'http' ? proto : origin.proto;
}

/** Lines for the app, each with its end. */
export function forwardedLines(head: RequestHead, origin: Origin, isTrusted: InNetworks): string {
  const { forwarded } = head;
  if (forwarded === undefined || !isTrusted(origin.address))
    return linesOf(origin.address, origin.proto, head.host);
  const host = lastOf(forwarded.host);
  return linesOf(
    visitorOf(head, origin, isTrusted),
    protoOf(head, origin, isTrusted),
    hostName.test(host) ? host : head.host,
  );
}

/** The address of the visitor. */
export function visitorOf(head: RequestHead, origin: Origin, isTrusted: InNetworks): string {
  const { address } = origin;
  if (head.forwarded === undefined || !isTrusted(address)) return address;
  return lastUntrusted(address, head.forwarded.for, isTrusted);
}

function linesOf(address: string, proto: string, host: string): string {
  const node = address.includes(':') ? `"[${address}]"` : address;
  return (
    `x-forwarded-for: ${address}\r\nx-forwarded-proto: ${proto}\r\nx-forwarded-host: ${host}\r\n` +
    `forwarded: for=${node};host="${host}";proto=${proto}\r\n`
  );
}

function lastUntrusted(peer: string, chain: string, isTrusted: InNetworks): string {
  let nearest = peer;
  for (const hop of chain.split(',').reverse()) {
    const address = plainAddress(hop.trim());
    if (isIP(address) === 0) return nearest;
    nearest = address;
    if (!isTrusted(address)) return address;
  }
  return nearest;
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function plainAddress(hop: string): string {
  const match = /^\[([^\]]+)\](?::\d+)?$/.exec(hop) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop);
  return (match?.[1] ?? hop).replace(/^::ffff:(?=\d+\.)/i, '').split('%')[0] ?? '';
}

function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim();
}

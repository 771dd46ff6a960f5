/**
 * Owns the address of a request's client, and what a proxy may say of it.
 *
 * 1. `X-Forwarded-For` and `X-Forwarded-Proto` count only from a peer inside the trusted networks;
 *    the chain is read from the right, and the first address outside them is the client.
 * 2. The edge is such a peer, and known by the socket that it comes by (`listeners.ts`). It says of every visitor
 *    who that is, and none of them is on this machine.
 * 3. A request counts as coming from this machine when its peer is on it, no header shows that a proxy,
 *    trusted or not, passes it on, and its Host names us (`own-host.ts`). That no app of the machine sent it is
 *    the exchange's to see.
 */
import { isIP } from 'node:net';

import { type InNetworks, isLoopback } from '../../lib/networks.ts';
import type { RequestHead } from './request-head.ts';

/** In place of the address of the edge, which has none. */
export const edgePeer = 'edge';

export interface ClientAddress {
  address: string;
  fromLoopback: boolean;
  secure: boolean;
}

// prettier-ignore
const forwardingHeaders = [
  'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via',
];

/** What a gateway knows of addresses and names. */
export interface AddressRules {
  /** Whether a peer is a trusted proxy. */
  readonly trusted: InNetworks;
  /** Whether a Host header names us. */
  readonly namesUs: (host: string) => boolean;
}

/** The client behind a peer, given what the request's head says. */
export function clientAddress(
  peer: string,
  head: Pick<RequestHead, 'header'>,
  { trusted, namesUs }: AddressRules,
): ClientAddress {
  const passedOn = forwardingHeaders.some((name) => head.header(name) !== '');
  const fromLoopback = !passedOn && isLoopback(peer) && namesUs(head.header('host'));
  if (!passedOn || !trusted(peer)) return { address: peer, fromLoopback, secure: false };
  const protocols = head.header('x-forwarded-proto').split(',');
  return {
    address: lastUntrusted(peer, head.header('x-forwarded-for'), trusted),
    fromLoopback,
    secure: protocols.at(-1)?.trim().toLowerCase() === 'https',
  };
}

function lastUntrusted(peer: string, chain: string, trusted: InNetworks): string {
  let nearest = peer;
  for (const hop of chain.split(',').reverse()) {
    const address = withoutPort(hop.trim());
    if (isIP(address) === 0) return nearest;
    nearest = address;
    if (!trusted(address)) return address;
  }
  return nearest;
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const match = /^\[([^\]]+)\](?::\d+)?$/.exec(hop) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop);
  return oneSpelling(match?.[1] ?? hop);
}

/** IPv6 in the spelling of RFC 5952, without zone; an IPv4 address inside IPv6 as IPv4. */
function oneSpelling(address: string): string {
  if (isIP(address) !== 6) return address;
  const [plain = ''] = address.split('%');
  const text = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text);
  if (mapped === null) return text;
  const [high, low] = [mapped[1], mapped[2]].map((part) => Number.parseInt(part ?? '', 16));
  return [high, low].flatMap((part = 0) => [part >> 8, part & 255]).join('.');
}

/** 4 or 16 bytes as text; an IPv4 address inside IPv6 as IPv4, IPv6 in the spelling of RFC 5952. */
export function textAddress(bytes: ArrayBuffer): string {
  const view = new Uint8Array(bytes);
  // This runs for each request; joining an array would cost a microsecond more.
  if (view.length === 4) return `${view[0] ?? 0}.${view[1] ?? 0}.${view[2] ?? 0}.${view[3] ?? 0}`;
  if (view.length !== 16) return '';
  const mapped = view.subarray(0, 10).every((byte) => byte === 0) && view[10] === 255;
  if (mapped && view[11] === 255) return view.subarray(12).join('.');
  return oneSpelling(
    Buffer.from(bytes)
      .toString('hex')
      .replace(/.{4}(?=.)/g, '$&:'),
  );
}

/** Owns which addresses count as one, for every limit by address, and which are in a network. */
import { BlockList, isIP, isIPv4 } from 'node:net';

/** An IPv4 address, or the /64 of an IPv6 address: whoever has one address of it has them all. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIPv4(address) || !address.includes(':')) return address;
  const [head = '', tail = ''] = address.toLowerCase().split('%')[0]?.split('::') ?? [];
  const front = head === '' ? [] : head.split(':');
  const back = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => '0');
  const groups = address.includes('::') ? [...front, ...zeros, ...back] : front;
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

/** Whether an address, in one spelling (see `InNetworks`), is of this machine alone. */
export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** Whose connection comes from the address: a network, where all of loopback is one. */
export function sourceOf(address: string): string {
  return isLoopback(address) ? 'loopback' : networkOf(address);
}

/** The addresses that workloads of this machine have in networks of their own. */
export const workloadNetwork = '10.213.0.0/16';

/** Whether an address, in one spelling (RFC 5952; no IPv4 inside IPv6), is in one of the networks. */
export type InNetworks = (address: string) => boolean;

/**
 * A test for addresses and CIDRs such as `10.0.0.0/8`; throws when one is neither. Addresses of workloads are in
 * none that is larger: apps are not who is meant.
 */
export function networks(list: readonly string[]): InNetworks {
  if (list.length === 0) return () => false;
  const isListed = blocksOf(list);
  const isWorkload = blocksOf([workloadNetwork]);
  const isNamed = blocksOf(list.filter((entry) => isWorkload(entry.split('/')[0] ?? '')));
  return (address) => isListed(address) && (!isWorkload(address) || isNamed(address));
}

function blocksOf(list: readonly string[]): InNetworks {
  const blocks = new BlockList();
  for (const entry of list) {
    const [base = '', prefix] = entry.split('/');
    const family = isIP(base);
    if (family === 0) throw new Error(`Cannot trust ${entry}: it is no address and no CIDR`);
    const kind = family === 4 ? 'ipv4' : 'ipv6';
    if (prefix === undefined) blocks.addAddress(base, kind);
    else blocks.addSubnet(base, Number(prefix), kind);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && blocks.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
}

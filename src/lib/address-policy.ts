/**
 * Owns which addresses the service may connect to because a caller named them: public ones, and those
 * that the operator admits. What is not known to be public is refused.
 *
 * 1. An IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) is judged as the IPv4 address.
 * 2. Link-local addresses, where clouds keep their metadata, stay refused whatever is admitted, and so
 *    do our own ports on any address of this machine.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Ranges that are not for the public internet (RFC 6890 and its successors). */
// prettier-ignore
const special4 = [
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12',
  '192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24',
  '192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24',
  '224.0.0.0/4', '240.0.0.0/4',
];
// Only 2000::/3 is assigned; these parts of it are not public.
const special6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
// The last one is a cloud's metadata address, which is not link-local.
const never = ['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128'];

export interface AddressPolicyOptions {
  /** Addresses and CIDRs admitted beside the public ones. */
  privateNetworks: readonly string[];
  /** Ports of ours, never reached on an address of this machine. Asked at each check. */
  ownPorts?: () => readonly number[];
}

/** What a policy goes by, as plain data: another thread judges by it as it was then. */
export interface AddressRules {
  privateNetworks: readonly string[];
  ownPorts: readonly number[];
}

export type Admission = 'public' | 'private' | 'refused';

export class AddressPolicy {
  readonly #special = listOf([...special4, ...special6]);
  readonly #never = listOf(never);
  readonly #global6 = listOf(['2000::/3']);
  readonly #admitted: BlockList;
  readonly #privateNetworks: readonly string[];
  readonly #ownPorts: () => readonly number[];

  constructor({ privateNetworks, ownPorts = () => [] }: AddressPolicyOptions) {
    this.#privateNetworks = privateNetworks;
    this.#admitted = listOf(privateNetworks);
    this.#ownPorts = ownPorts;
  }

  get rules(): AddressRules {
    return { privateNetworks: this.#privateNetworks, ownPorts: this.#ownPorts() };
  }

  /** How an address is admitted: as public, or as `private` because the operator admits it. */
  admit(address: string, port: number): Admission {
    const plain = innerAddress(address);
    if (isIP(plain) === 0 || holds(this.#never, plain)) return 'refused';
    if (this.#ownPorts().includes(port) && isOwnAddress(plain)) return 'refused';
    if (holds(this.#admitted, plain)) return 'private';
    return this.#isPublic(plain) ? 'public' : 'refused';
  }

  #isPublic(address: string): boolean {
    if (holds(this.#special, address)) return false;
    return isIPv4(address) || holds(this.#global6, address);
  }
}

/** The IPv4 address that an IPv6 one wraps, else the address without its zone. */
export function innerAddress(address: string): string {
  const plain = address.replace(/^\[|\]$/g, '').split('%')[0] ?? '';
  if (isIP(plain) !== 6) return plain;
  const groups = groupsOf(plain);
  const [first = 0, second = 0] = groups;
  const zeros = (from: number, to: number): boolean =>
    groups.slice(from, to).every((group) => group === 0);
  const last = (): string => ipv4Of(groups[6] ?? 0, groups[7] ?? 0);
  if (zeros(0, 5) && groups[5] === 0xffff) return last();
  // IPv4-compatible addresses are long gone; `::` and `::1` are none.
  if (zeros(0, 6) && (groups[6] !== 0 || (groups[7] ?? 0) > 1)) return last();
  if (first === 0x64 && second === 0xff9b) return last();
  if (first === 0x2002) return ipv4Of(second, groups[2] ?? 0);
  return plain;
}

function groupsOf(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = (high?: string, low?: string): string =>
    ((Number(high) << 8) | Number(low)).toString(16);
  const text = dotted
    ? `${dotted[1] ?? ''}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`
    : address;
  const [head = '', tail] = text.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : 8 - front.length - back.length;
  return [...front, ...Array.from({ length: gap }, () => '0'), ...back].map((one) =>
    Number.parseInt(one, 16),
  );
}

function ipv4Of(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function isOwnAddress(address: string): boolean {
  if (address.startsWith('127.') || ['::1', '::', '0.0.0.0'].includes(address)) return true;
  return Object.values(networkInterfaces()).some((all) =>
    all?.some((one) => one.address === address),
  );
}

function holds(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

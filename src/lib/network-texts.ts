/** Owns how people write addresses, servers and networks. */
import { BlockList, isIP } from 'node:net';

export function isAddress(text: string): boolean {
  return isIP(text) !== 0;
}

/** An address, or `a.b.c.d:port` and `[address]:port`. */
export function isDnsServer(text: string): boolean {
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
  return (
    isAddress(text) || (isPort && (six === undefined ? isIP(four ?? '') === 4 : isIP(six) === 6))
  );
}

/** An address, or a CIDR. */
export function isNetwork(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  if (!/^\d{1,3}$/.test(prefix)) return false;
  try {
    new BlockList().addSubnet(address, Number(prefix), version === 4 ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    // The prefix is longer than the address.
    return false;
  }
}

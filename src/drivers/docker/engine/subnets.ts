/**
 * Owns who gives which addresses of a network of ours.
 *
 * 1. We give those of the lower half: an address belongs to one container until that is removed,
 *    however often it starts. The daemon gives those of the upper half, anew at each start.
 */

export interface SubnetPlan {
  gateway: string;
  /** The range from which the daemon gives. */
  range: string;
}

/** `subnet`: IPv4 of 16 addresses or more, as the daemon writes it. */
export function planOf(subnet: string): SubnetPlan {
  const { base, prefix, size } = parse(subnet);
  const range = `${textOf(base + size / 2)}/${prefix + 1}`;
  return { gateway: textOf(base + 1), range };
}

/**
 * A free address of the lower half; null when there is none. `pick` (0 to 1) says where to begin, so
 * that an address that was just given back is not given next.
 */
export function freeAddress(
  subnet: string,
  taken: ReadonlySet<string>,
  pick: number,
): string | null {
  const { base, size } = parse(subnet);
  // Neither the network's own address nor the gateway.
  const count = size / 2 - 2;
  const first = Math.floor(pick * count);
  for (let step = 0; step < count; step++) {
    const address = textOf(base + 2 + ((first + step) % count));
    if (!taken.has(address)) return address;
  }
  return null;
}

function parse(subnet: string): { base: number; prefix: number; size: number } {
  const [, address = '', length = ''] = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(subnet) ?? [];
  const prefix = Number(length);
  if (address === '' || prefix < 8 || prefix > 28) {
    throw new Error(`Cannot share out ${subnet}: it is no IPv4 subnet of 16 addresses at least`);
  }
  const base = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return { base, prefix, size: 2 ** (32 - prefix) };
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join('.');
}

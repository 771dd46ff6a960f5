/**
 * Owns the network of one workload from inside: its pair of interfaces, and what its own loopback leads to.
 *
 * 1. It has IPv4 alone, but for its loopback.
 * 2. What is led once stays led as long as the network: rules are made once, in turn.
 */
import fs from 'node:fs';

import { addressOf, interfaceOf, machineAddress } from './addresses.ts';
import { runTool, type Tool } from '../system-tools.ts';
import { inside, type NetworkTools } from './tools.ts';

const loopback = '127.0.0.1';
const taken = 'File exists';

interface Led {
  inward: readonly number[];
  out: readonly number[];
}

export class OwnNetwork {
  readonly procNet: string;
  readonly #tools: NetworkTools;
  /** Holds the namespace, so that its path leads to no other. */
  readonly #space: number;
  readonly #ledIn = new Set<number>();
  readonly #ledOut = new Set<number>();
  #rules: Promise<void> = Promise.resolve();
  #closed = false;

  /** Of the process, which has one that is not ours. */
  constructor(pid: number, tools: NetworkTools) {
    this.procNet = `/proc/${String(pid)}/net`;
    this.#tools = tools;
    const space = `/proc/${String(pid)}/ns/net`;
    this.#space = fs.openSync(space, 'r');
    if (isOurs(this.#space)) {
      fs.closeSync(this.#space);
      throw new Error(`Cannot connect a network: process ${String(pid)} has none of its own`);
    }
  }

  /** Makes the pair, with one end inside; false: the number is taken. */
  async pair(number: number, mtu: number): Promise<boolean> {
    const outer = interfaceOf(number);
    const size = `mtu ${String(mtu)}`;
    const batch = [
      `link add ${outer} ${size} type veth peer name eth0 ${size} netns ${this.#path}`,
      ...withoutIpv6(outer),
      // On loopback: browsers on the machine end all connections when an interface gets an address.
      `address replace ${machineAddress}/32 dev lo`,
      `link set ${outer} up`,
      `route add ${addressOf(number)} dev ${outer} src ${machineAddress}`,
    ];
    try {
      await this.#ip(this.#tools.ip, batch);
      return true;
    } catch (error) {
      if ((error as Error).message.includes(taken)) return false;
      throw error;
    }
  }

  /** Brings the inner end of the pair up, once that is made. */
  async bringUp(number: number): Promise<void> {
    await this.#ip(inside(this.#tools, this.#path, this.#tools.ip), [
      'link set lo up',
      ...withoutIpv6('eth0'),
      `address add ${addressOf(number)}/32 dev eth0`,
      'link set eth0 up',
      `route add ${machineAddress} dev eth0`,
      `route add default via ${machineAddress}`,
    ]);
  }

  /**
   * Who comes to its address at a port of `inward` is led to its loopback; what it asks for on its loopback at a
   * port of `out` is led to the machine.
   */
  lead({ inward = [], out = [] }: Partial<Led>): Promise<void> {
    const led = this.#rules.then(async () => {
      const fresh = { inward: unlike(inward, this.#ledIn), out: unlike(out, this.#ledOut) };
      if (this.#closed || fresh.inward.length + fresh.out.length === 0) return;
      const isFirst = this.#ledIn.size + this.#ledOut.size === 0;
      const tool = leading(this.#tools, this.#path);
      await runTool(tool, loopbackRules(fresh, isFirst));
      for (const port of fresh.inward) this.#ledIn.add(port);
      for (const port of fresh.out) this.#ledOut.add(port);
    });
    this.#rules = led.catch(() => undefined); // Its asker is told.
    return led;
  }

  /** Counters of bytes since it was made; undefined once it has ended. */
  traffic(): { inBytes: number; outBytes: number } | undefined {
    return readTraffic(this.procNet);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    // What still runs with its path is waited for: another file could get the number.
    void this.#rules.finally(() => fs.closeSync(this.#space));
  }

  get #path(): string {
    return `/proc/${String(process.pid)}/fd/${String(this.#space)}`;
  }

  #ip(tool: Tool, lines: readonly string[]): Promise<unknown> {
    const done = runTool([...tool, '-batch', '-'], `${lines.join('\n')}\n`);
    this.#rules = Promise.all([this.#rules, done.catch(() => undefined)]).then(() => undefined);
    return done;
  }
}

function unlike(ports: readonly number[], known: ReadonlySet<number>): number[] {
  return ports.filter((port) => !known.has(port));
}

function isOurs(space: number): boolean {
  const [own, other] = [fs.statSync('/proc/self/ns/net'), fs.fstatSync(space)];
  return own.ino === other.ino && own.dev === other.dev;
}

/** Without an address there is no IPv6, not even between the two ends. */
function withoutIpv6(name: string): string[] {
  return fs.existsSync('/proc/sys/net/ipv6') ? [`link set ${name} addrgenmode none`] : [];
}

/** Adds rules in a namespace, once packets of loopback may leave it there. */
function leading(tools: NetworkTools, space: string): Tool {
  return inside(tools, space, leadingHere(tools));
}

/** The same in the namespace that it is started in. */
export function leadingHere({ restore }: Pick<NetworkTools, 'restore'>): Tool {
  const script = 'echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet && exec "$@"';
  return ['/bin/sh', '-c', script, 'sh', ...restore];
}

/** For `iptables-restore` inside. `isFirst`: there are no rules yet. */
export function loopbackRules({ inward, out }: Led, isFirst: boolean): string {
  return [
    '*nat',
    ...inward.map((port) => {
      const to = `${loopback}:${String(port)}`;
      return `-A PREROUTING -i eth0 -p tcp --dport ${String(port)} -j DNAT --to-destination ${to}`;
    }),
    ...out.map((port) => {
      const to = `${machineAddress}:${String(port)}`;
      return `-A OUTPUT -d ${loopback} -p tcp --dport ${String(port)} -j DNAT --to-destination ${to}`;
    }),
    ...(isFirst ? [`-A POSTROUTING -o eth0 -s ${loopback} -j MASQUERADE`] : []),
    'COMMIT',
    '',
  ].join('\n');
}

function readTraffic(procNet: string): { inBytes: number; outBytes: number } | undefined {
  let text: string;
  try {
    text = fs.readFileSync(`${procNet}/dev`, 'latin1');
  } catch {
    return undefined; // It has ended.
  }
  const line = /^\s*eth0:\s*(.*)$/m.exec(text)?.[1];
  if (line === undefined) return undefined;
  const fields = line.trim().split(/\s+/).map(Number);
  return { inBytes: fields[0] ?? 0, outBytes: fields[8] ?? 0 };
}

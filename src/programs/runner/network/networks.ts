/**
 * Owns the networks of workloads on this machine: each has one of its own, with its own loopback, a way out,
 * and a way to the databases of its team.
 *
 * 1. A number, and with it an address, is one workload's alone on the machine, whoever runs it: the kernel
 *    makes no second interface of a name.
 * 2. Who may reach a database is told by the interface that a packet comes from. It is written before the
 *    workload runs, and taken back before its number can come again.
 * 3. The pair of interfaces ends with the workload's namespace, however that ends.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { workloadNetwork } from '../../../lib/networks.ts';
import type { WorkloadSpec } from '../../../protocol/workload.ts';
import { addressOf, interfaceOf, numberOf, workloadNumbers } from './addresses.ts';
import { areThere, machineRules } from './machine-rules.ts';
import type { BoundFile } from '../isolation/mounts.ts';
import { type NameFiles, openNameFiles } from './name-files.ts';
import { leadingHere, loopbackRules, OwnNetwork } from './own-network.ts';
import { type Team, TeamChains } from './team-rules.ts';
import { runTool, runToolSync } from '../system-tools.ts';
import { findNetworkTools, type NetworkTools } from './tools.ts';

export interface WorkloadNetwork {
  readonly address: string;
  /** Such as /proc/<pid>/net. */
  readonly procNet: string;
  /** Makes a port reached at the address at which something listens on loopback alone. May be repeated. */
  leadIn(port: number): Promise<void>;
  /** Bytes so far; undefined once it has ended. */
  traffic(): { inBytes: number; outBytes: number } | undefined;
  close(): void;
}

export interface Networks {
  /**
   * Files of ours to be bound over those of the machine in a workload. `dir`: of ours, for the workload;
   * `hostname`: what it is called in there.
   */
  filesOf(dir: string, hostname: string): readonly BoundFile[];
  /**
   * Connects the fresh network namespace of the process. `address`: that it had before, taken again when it
   * is free. Rejects with an Error that says why.
   */
  connect(pid: number, spec: WorkloadSpec, address: string | null): Promise<WorkloadNetwork>;
  close(): void;
}

export interface NetworksOptions {
  /** Where files of ours may lie. */
  stateDir: string;
  /** Names the rules of this data directory, unlike those of any other. */
  instance: string;
  clock: Clock;
  logger: Logger;
}

const forwardSwitch = '/proc/sys/net/ipv4/ip_forward';
/** Others flush rules, as when a firewall is started again. */
const lookEveryMs = 30_000;
const numbersTried = 50;
const rulesTried = 3;
const defaultMtu = 1500;

/** Tries for real what it needs; `missing` is a sentence of why it cannot. */
export async function openNetworks(
  options: NetworksOptions,
): Promise<Networks | { missing: string }> {
  if (process.getuid?.() !== 0) return { missing: 'It takes root to make networks.' };
  const tools = findNetworkTools();
  if ('lacking' in tools) {
    const of = tools.lacking.join(', ');
    return { missing: `There is no program ${of} (packages iproute2, iptables, util-linux).` };
  }
  const names = openNameFiles(path.join(options.stateDir, 'network'));
  if ('missing' in names) return names;
  if (isNetworkTaken()) {
    return { missing: `Another network of this machine has addresses in ${workloadNetwork}.` };
  }
  const networks = new MachineNetworks(options, tools, names);
  try {
    await networks.open();
    return networks;
  } catch (error) {
    return { missing: `Networks cannot be made here: ${(error as Error).message}.` };
  }
}

/** Whether a route leads into the network, other than to workloads. */
function isNetworkTaken(): boolean {
  return routes().some(
    ({ name, to, mask }) => !name.startsWith('gngw') && to.startsWith('10.213.') && mask >= 16,
  );
}

/** How large packets may be on the way out. */
function mtuOut(): number {
  const out = routes().find(({ mask }) => mask === 0)?.name;
  if (out === undefined) return defaultMtu;
  try {
    return Number(fs.readFileSync(`/sys/class/net/${out}/mtu`, 'utf8')) || defaultMtu;
  } catch {
    return defaultMtu; // Gone meanwhile, or no place to ask.
  }
}

function routes(): { name: string; to: string; mask: number }[] {
  const [, ...lines] = fs.readFileSync('/proc/net/route', 'latin1').trim().split('\n');
  return lines.map((line) => {
    const [name = '', to = '', , , , , , mask = ''] = line.split('\t');
    const bytes = (to.match(/../g) ?? []).map((byte) => parseInt(byte, 16)).reverse();
    const bits = parseInt(mask, 16).toString(2).replaceAll('0', '').length;
    return { name, to: bytes.join('.'), mask: bits };
  });
}

function isThere(name: string): boolean {
  return fs.existsSync(`/sys/class/net/${name}`);
}

function isForwarding(): boolean {
  return fs.readFileSync(forwardSwitch, 'latin1').trim() !== '0';
}

class MachineNetworks implements Networks {
  readonly #options: NetworksOptions;
  readonly #tools: NetworkTools;
  readonly #names: NameFiles;
  readonly #numbers = workloadNumbers();
  readonly #connected = new Set<Connected>();
  readonly #chains: TeamChains;
  readonly #teams: TeamRules;
  #cancelLook: () => void = () => undefined;

  constructor(options: NetworksOptions, tools: NetworkTools, names: NameFiles) {
    this.#options = options;
    this.#tools = tools;
    this.#names = names;
    this.#chains = new TeamChains(options.instance);
    this.#teams = new TeamRules(tools, this.#chains, () => this.#teamsNow());
  }

  filesOf(dir: string, hostname: string): readonly BoundFile[] {
    return this.#names.filesOf(dir, hostname);
  }

  async open(): Promise<void> {
    await Promise.all([this.#openRules(), this.#tryInside()]);
    this.#lookLater();
  }

  async connect(pid: number, spec: WorkloadSpec, address: string | null): Promise<WorkloadNetwork> {
    const own = new OwnNetwork(pid, this.#tools);
    const connected: Connected = {
      own,
      team: spec.team ?? null,
      number: null,
      port: spec.kind === 'service' && spec.keepsPort === true ? spec.port : null,
    };
    this.#connected.add(connected);
    const close = (): void => this.#disconnect(connected);
    try {
      const [number] = await Promise.all([
        this.#bringUp(connected, address),
        this.#leadInside(connected),
      ]);
      this.#tellTeam(connected);
      return {
        address: addressOf(number),
        procNet: own.procNet,
        leadIn: (port) => own.lead({ inward: [port] }),
        traffic: () => own.traffic(),
        close,
      };
    } catch (error) {
      close();
      throw error;
    }
  }

  close(): void {
    this.#cancelLook();
    for (const connected of this.#connected) connected.own.close();
    this.#connected.clear();
    this.#teams.removeAll();
  }

  async #openRules(): Promise<void> {
    const saved = await runTool(this.#tools.save);
    await this.#setRules(saved, (seen) => this.#chains.sweep(seen, isThere));
  }

  /**
   * Again when another Gangway changed them between the look and the change. `sweep`: what removes rules, by
   * those that are there.
   */
  async #setRules(saved: string, sweep: (seen: string) => string): Promise<void> {
    const isNoRouter = !isForwarding();
    const { servers: nameServers } = this.#names;
    for (let [tried, seen] = [1, saved]; ; tried++, seen = await runTool(this.#tools.save)) {
      try {
        const rules = machineRules(seen, { nameServers, isNoRouter });
        await runTool(this.#tools.restore, `${sweep(seen)}${rules}`);
        if (isNoRouter) fs.writeFileSync(forwardSwitch, '1');
        return;
      } catch (error) {
        if (tried >= rulesTried) throw error;
      }
    }
  }

  #lookLater(): void {
    this.#cancelLook = this.#options.clock.after(lookEveryMs, () => {
      this.#look()
        .catch((err: unknown) => this.#failed(err))
        .finally(() => this.#lookLater());
    });
  }

  async #look(): Promise<void> {
    if (this.#connected.size === 0) return;
    const saved = await runTool(this.#tools.save);
    if (isForwarding() && areThere(saved) && this.#teams.areThere(saved)) return;
    this.#options.logger.warn({}, 'network_rules_gone');
    await this.#setRules(saved, () => '');
    await this.#teams.writeAnew();
  }

  /** A pair of interfaces, and rules, in a namespace that ends with the attempt. */
  async #tryInside(): Promise<void> {
    const { ip, unshare } = this.#tools;
    const pair = `${ip.join(' ')} link add gngt0 type veth peer name gngt1 && exec "$@"`;
    const inside = ['/bin/sh', '-c', pair, 'sh', ...leadingHere(this.#tools)];
    const rules = loopbackRules({ inward: [1], out: [1] }, true);
    await runTool([...unshare, '--net', '--', ...inside], rules);
  }

  async #bringUp(connected: Connected, address: string | null): Promise<number> {
    const number = await this.#pair(connected.own, address);
    connected.number = number;
    const led = this.#hasDatabase(connected.team) ? this.#teams.write() : undefined;
    await Promise.all([connected.own.bringUp(number), led]);
    return number;
  }

  async #pair(own: OwnNetwork, address: string | null): Promise<number> {
    const mtu = mtuOut();
    const before = address === null ? undefined : numberOf(address);
    if (before !== undefined && (await own.pair(before, mtu))) return before;
    for (let tried = 0; tried < numbersTried; tried++) {
      const number = this.#numbers.next().value;
      if (await own.pair(number, mtu)) return number;
    }
    throw new Error(`Cannot connect a network: all of ${String(numbersTried)} numbers are taken`);
  }

  /** Its own port, where it listens on loopback alone, and those of its team's databases. */
  async #leadInside({ own, team, port }: Connected): Promise<void> {
    const out = this.#portsOf(team).filter((one) => one !== port);
    await own.lead({ out, inward: port === null ? [] : [port] });
  }

  /** Those of its team that run already reach it from now on. */
  #tellTeam({ team, port }: Connected): void {
    if (port === null || team === null) return;
    for (const other of this.#connected) {
      if (other.team !== team || other.port === port) continue;
      other.own.lead({ out: [port] }).catch((err: unknown) => this.#failed(err));
    }
  }

  #disconnect(connected: Connected): void {
    if (!this.#connected.delete(connected)) return;
    connected.own.close();
    if (!this.#hasDatabase(connected.team) && connected.port === null) return;
    this.#teams.write().catch((err: unknown) => this.#failed(err));
  }

  #failed(err: unknown): void {
    this.#options.logger.error({ err }, 'team_network_not_set');
  }

  #portsOf(team: string | null): number[] {
    if (team === null) return [];
    return [...this.#connected].flatMap((one) => (one.team === team ? (one.port ?? []) : []));
  }

  #hasDatabase(team: string | null): boolean {
    return this.#portsOf(team).length > 0;
  }

  #teamsNow(): Team[] {
    const teams = new Map<
      string,
      { interfaces: string[]; databases: Team['databases'][number][] }
    >();
    for (const { team, number, port } of this.#connected) {
      if (team === null || number === null) continue;
      const parts = teams.get(team) ?? { interfaces: [], databases: [] };
      teams.set(team, parts);
      parts.interfaces.push(interfaceOf(number));
      if (port !== null) parts.databases.push({ address: addressOf(number), port });
    }
    return [...teams]
      .filter(([, { databases }]) => databases.length > 0)
      .map(([id, parts]) => ({ id, ...parts }));
  }
}

interface Connected {
  readonly own: OwnNetwork;
  readonly team: string | null;
  /** Null until it has its pair. */
  number: number | null;
  /** At which its team reaches it, if it is a database; it listens there on loopback. */
  readonly port: number | null;
}

/** Writes the rules for all teams as they are, one write at a time. One serves all who wait for the next. */
class TeamRules {
  readonly #tools: NetworkTools;
  readonly #chains: TeamChains;
  readonly #teams: () => Team[];
  #written: ReadonlySet<string> | null = null;
  #next: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(tools: NetworkTools, chains: TeamChains, teams: () => Team[]) {
    this.#tools = tools;
    this.#chains = chains;
    this.#teams = teams;
  }

  /** Whether what was written has not been removed by others. */
  areThere(saved: string): boolean {
    return this.#written === null || this.#chains.areThere(saved);
  }

  /** Before the process ends, which waits for it. */
  removeAll(): void {
    if (this.#written === null) return;
    runToolSync(this.#tools.restore, this.#chains.remove(this.#written));
    this.#written = null;
  }

  writeAnew(): Promise<void> {
    this.#written = null;
    return this.write();
  }

  write(): Promise<void> {
    this.#next ??= this.#last.then(async () => {
      this.#next = undefined;
      const teams = this.#teams();
      if (teams.length === 0 && this.#written === null) return;
      // One that fails leaves all as it was.
      await runTool(this.#tools.restore, this.#chains.replace(teams, this.#written));
      this.#written = new Set(teams.map(({ id }) => id));
    });
    const written = this.#next;
    this.#last = written.catch(() => undefined); // Its asker is told.
    return written;
  }
}

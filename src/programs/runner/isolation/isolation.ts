/**
 * Owns the layers that keep workloads apart on this machine: which hold, and the namespaces of each workload.
 *
 * 1. A layer that the kernel, the rights, the programs of the machine or the operator withhold is left out,
 *    and says why. A layer that holds, holds for every workload: one that cannot have it does not start.
 */
import fs from 'node:fs';
import path from 'node:path';

import { isolationLayers, sharedFolders } from '../../../protocol/isolation.ts';
import type { IsolationLayer, LayerState } from '../../../protocol/isolation.ts';
import type { ControlGroup } from '../../../lib/processes/processes.ts';
import type { WorkloadSpec } from '../../../protocol/workload.ts';
import { launcherRoot } from '../limits/launch.ts';
import type { Networks, WorkloadNetwork } from '../network/networks.ts';
import { Holder, type HolderTools, type Namespace } from './holder.ts';
import { findTools, runTool } from '../system-tools.ts';
import { fileMounts, hasTerminals, ownProc, tempFolders, type View, viewMounts } from './mounts.ts';

export interface IsolationOptions {
  /** Of the service. */
  dataDir: string;
  /** Layers that are to be left out. */
  without: readonly IsolationLayer[];
  /** Whether control groups hold workloads. */
  hasGroups: boolean;
  isRoot: boolean;
  openNetworks: () => Promise<Networks | { missing: string }>;
}

/** What one workload is in; the same over its restarts. */
export interface Enclosure {
  /** Program and options by which what is named behind them runs inside. */
  readonly enter: readonly string[];
  /** Null: the machine's. */
  readonly network: WorkloadNetwork | null;
  /** See `Place.terminals`. */
  readonly terminals: string | undefined;
  /** All that is in its pid namespace; null: it sees the machine's. */
  readonly group: ControlGroup | null;
  /** False once the system has ended it. */
  readonly holds: boolean;
  close(): Promise<void>;
}

type TriedLayer = Exclude<IsolationLayer, 'cgroup' | 'network'>;
type Missing = ReadonlyMap<IsolationLayer, string>;

const leftOut = 'It is left out by GANGWAY_ISOLATION_WITHOUT.';
const noGroups = 'No control groups can be made here.';
const notRoot = 'Gangway does not run as root.';
const noUids = 'Gangway may not run programs as other users here.';
const notLinux = 'This is no Linux.';

const ownFiles =
  'mount -t tmpfs gangway /dev/shm && { [ ! -e /dev/pts/ptmx ] || mount -t devpts gangway /dev/pts; }';
/**
 * What an attempt at a layer makes and what it then runs in there. `pid` is nothing without a /proc of its
 * own. Networks are tried by who makes them.
 */
const attempts: Readonly<Record<TriedLayer, { makes: readonly string[]; runs: string }>> = {
  pid: { makes: ['--mount', '--pid', '--fork', '--kill-child'], runs: 'mount -t proc proc /proc' },
  mount: { makes: ['--mount'], runs: ownFiles },
  ipc: { makes: ['--ipc'], runs: 'true' },
  uts: { makes: ['--uts'], runs: 'true' },
  privileges: { makes: [], runs: 'setpriv --no-new-privs -- true' },
};

export class Isolation {
  readonly states: readonly LayerState[];
  readonly #missing: Missing;
  /** Null where some are not there: then no layer needs them. */
  readonly #tools: HolderTools | null;
  readonly #networks: Networks | null;
  readonly #dataDir: string;

  private constructor(
    missing: Missing,
    tools: HolderTools | null,
    networks: Networks | null,
    dataDir: string,
  ) {
    this.#missing = missing;
    this.#tools = tools;
    this.#networks = networks;
    this.#dataDir = dataDir;
    this.states = isolationLayers.map((layer) => ({ layer, missing: missing.get(layer) ?? null }));
  }

  static async open(options: IsolationOptions): Promise<Isolation> {
    const missing = new Map(options.without.map((layer) => [layer, leftOut]));
    if (!options.hasGroups && !missing.has('cgroup')) missing.set('cgroup', noGroups);
    const found = findTools(['unshare', 'nsenter', 'setsid', 'setpriv', 'mount', 'timeout']);
    const tools = 'lacking' in found ? null : found;
    const general = reasonAgainstAll(options.isRoot, 'lacking' in found ? found.lacking : []);
    const wanted = isolationLayers.filter(
      (layer): layer is Exclude<IsolationLayer, 'cgroup'> =>
        !missing.has(layer) && layer !== 'cgroup',
    );
    if (general !== undefined) for (const layer of wanted) missing.set(layer, general);
    // Together: each takes its time.
    const [opened] = await Promise.all([
      missing.has('network') ? null : options.openNetworks(),
      tools === null || general !== undefined
        ? undefined
        : tryLayers(
            wanted.filter((layer) => layer !== 'network'),
            tools,
            missing,
          ),
    ]);
    if (opened !== null && 'missing' in opened) missing.set('network', opened.missing);
    const networks = opened === null || 'missing' in opened ? null : opened;
    return new Isolation(missing, tools, networks, options.dataDir);
  }

  has(layer: IsolationLayer): boolean {
    return !this.#missing.has(layer);
  }

  /** For `Place.enter`; empty where nothing is entered. */
  enterOf(enclosure: Enclosure | undefined): string[] {
    const enter = enclosure?.enter ?? [];
    if (this.#tools === null || !this.has('privileges')) return [...enter];
    return [...enter, this.#tools.setpriv, '--no-new-privs', '--'];
  }

  /**
   * Undefined where no layer needs one. `dir`: ours, for the workload. `address`: that it had before. Rejects
   * with an Error.
   */
  async enclose(
    spec: WorkloadSpec,
    dir: string,
    address: string | null,
  ): Promise<Enclosure | undefined> {
    const namespaces = this.#namespaces();
    if (this.#tools === null || namespaces.length === 0) return undefined;
    const view = this.#viewOf(spec);
    const hostname = spec.owner.replaceAll('_', '-');
    const names = this.#networks?.filesOf(dir, hostname) ?? [];
    // What is ours is bound before it is hidden.
    const mounts = [...fileMounts(names), ...(view?.mounts ?? [])];
    if (this.has('pid')) mounts.push(ownProc);
    const holder = await Holder.open({
      tools: this.#tools,
      dir,
      namespaces,
      mounts,
      hostname,
      manifest: view?.manifest ?? null,
    });
    try {
      const network = (await this.#networks?.connect(holder.pid, spec, address)) ?? null;
      return enclosureOf(holder, network, this.has('pid'), view?.terminals ?? undefined);
    } catch (error) {
      await holder.close();
      throw error;
    }
  }

  close(): void {
    this.#networks?.close();
  }

  #namespaces(): Namespace[] {
    const names: Namespace[] = [];
    // Without a /proc of its own a pid namespace hides nothing.
    if (this.has('mount') || this.has('pid') || this.#networks !== null) names.push('mnt');
    if (this.has('pid')) names.push('pid');
    if (this.has('ipc')) names.push('ipc');
    if (this.has('uts')) names.push('uts');
    if (this.#networks !== null) names.push('net');
    return names;
  }

  /** Undefined: it sees what its uid may see. */
  #viewOf({
    files,
  }: WorkloadSpec): (Pick<View, 'terminals'> & { mounts: string[]; manifest: string }) | undefined {
    if (!this.has('mount') || files === undefined) return undefined;
    const apps = realFolder(path.join(this.#dataDir, 'apps'));
    const dataDir = realFolder(this.#dataDir) ?? this.#dataDir;
    const hidden = [dataDir];
    // Where app files lie elsewhere, what is beside them is of other instances.
    if (apps !== undefined && !apps.startsWith(`${dataDir}/`)) hidden.push(path.dirname(apps));
    const shared = sharedFolders.flatMap(
      (name) => realFolder(path.join(apps ?? dataDir, name)) ?? [],
    );
    // By these every program is started.
    const covered = [...hidden, ...tempFolders];
    for (const folder of [launcherRoot(), path.dirname(process.execPath)]) {
      if (covered.some((cover) => folder.startsWith(`${cover}/`))) shared.push(folder);
    }
    const terminals = hasTerminals() ? path.join(dataDir, 'pts') : null;
    const view: View = { hidden, shared, own: files, terminals };
    const mounts = viewMounts(view);
    if (mounts === undefined) throw new Error('Cannot hide files that lie in /dev/shm');
    return { mounts, manifest: path.join(apps ?? dataDir, 'package.json'), terminals };
  }
}

function reasonAgainstAll(isRoot: boolean, lacks: readonly string[]): string | undefined {
  if (process.platform !== 'linux') return notLinux;
  if (!isRoot) return process.getuid?.() === 0 ? noUids : notRoot;
  return lacks.length === 0
    ? undefined
    : `This machine has no ${lacks.join(', ')} (util-linux, coreutils).`;
}

/** All in one attempt, as a workload has them; each by itself only where that fails: which it is. */
async function tryLayers(
  layers: readonly TriedLayer[],
  tools: HolderTools,
  missing: Map<IsolationLayer, string>,
): Promise<void> {
  if (layers.length === 0 || (await refusalOf(layers, tools)) === null) return;
  await Promise.all(
    layers.map(async (layer) => {
      const refusal = await refusalOf([layer], tools);
      if (refusal !== null) missing.set(layer, `The system refuses it: ${refusal}.`);
    }),
  );
}

/** Null: they can be had together. */
async function refusalOf(
  layers: readonly TriedLayer[],
  { setpriv, unshare }: HolderTools,
): Promise<string | null> {
  const made = new Set(layers.flatMap((layer) => attempts[layer].makes));
  const script = layers.map((layer) => `{ ${attempts[layer].runs}; }`).join(' && ');
  const inside = [unshare, ...made, '--', '/bin/sh', '-c', script];
  try {
    await runTool([setpriv, '--pdeathsig', 'KILL', '--', ...inside]);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function enclosureOf(
  holder: Holder,
  network: WorkloadNetwork | null,
  ownPids: boolean,
  terminals: string | undefined,
): Enclosure {
  return {
    terminals,
    enter: holder.enter,
    network,
    group: ownPids ? holder.group : null,
    get holds() {
      return holder.holds;
    },
    close: async () => {
      network?.close();
      await holder.close();
    },
  };
}

function realFolder(folder: string): string | undefined {
  try {
    return fs.realpathSync(folder);
  } catch {
    return undefined; // There is none.
  }
}

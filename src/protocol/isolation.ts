/** Owns the layers that keep workloads of one machine apart, as plain data. */

/**
 * `cgroup`: limits, and which process belongs to whom; `pid`: sees no processes but its own; `mount`: sees
 * of the data directory its own folders alone, and has a `/tmp` of its own; `ipc`, `uts`; `network`: has a
 * loopback of its own, and reaches no other workload; `privileges`: gains none by what it executes.
 */
export const isolationLayers = [
  'cgroup',
  'pid',
  'mount',
  'ipc',
  'uts',
  'network',
  'privileges',
] as const;

export type IsolationLayer = (typeof isolationLayers)[number];

/** As a list of the command line, with commas between; in the order of the layers, each once. */
export function layersIn(list: string): IsolationLayer[] {
  const named = new Set(list.split(','));
  return isolationLayers.filter((layer) => named.has(layer));
}

/** What does not hold where a layer is left out, for people; whatever else is left out. */
export const lostWithout: Readonly<Record<IsolationLayer, string>> = {
  cgroup:
    'Limits hold in part only. Where apps have no pid namespace either, a uid and a mark in the environment ' +
    'say whose a process is, and what hides from both lives on when its app is stopped.',
  pid:
    "Apps see each other's processes and their command lines. Where apps have no uid of their own, they read " +
    "each other's variables and end each other, too.",
  mount:
    'Apps share /tmp, /var/tmp, /run/lock and /dev/shm, and nothing but the modes of files keeps them from the ' +
    'data directory and from the folders of others.',
  ipc: 'Apps share System V shared memory, semaphores and message queues.',
  uts: 'Apps see the host name of this machine.',
  network:
    "Apps reach each other's ports, the services on this machine's loopback and its sockets without a file, " +
    'and can take a port at the moment in which another lets go of it. Browsers that are led to an app under ' +
    "the panel's host name send it the panel's cookie, unless that is kept to https.",
  privileges: 'Apps may gain rights by set-user-id programs of this machine, such as sudo.',
};

export interface LayerState {
  layer: IsolationLayer;
  /** A sentence of why it is left out; null: it holds. */
  missing: string | null;
}

/** Folders beside those of the apps that every workload may read. */
export const sharedFolders = ['toolchain', 'programs'] as const;

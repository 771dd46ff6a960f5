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

export interface LayerState {
  layer: IsolationLayer;
  /** A sentence of why it is left out; null: it holds. */
  missing: string | null;
}

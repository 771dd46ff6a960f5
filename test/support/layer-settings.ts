/** Owns which layers of isolation attacks are tried on: with all of them, and without some. */
import { type IsolationLayer, isolationLayers } from '../../src/protocol/isolation.ts';

type Held =
  'every layer' | 'no networks of their own' | 'control groups and no namespaces' | 'uids alone';

/** By what holds then: the layers that are left out. */
export const layerSettings: Readonly<Record<Held, readonly IsolationLayer[]>> = {
  'every layer': [],
  'no networks of their own': ['network'],
  'control groups and no namespaces': ['pid', 'mount', 'ipc', 'uts', 'network'],
  'uids alone': isolationLayers,
};

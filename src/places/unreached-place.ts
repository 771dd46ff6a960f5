/**
 * Owns the place of a server that is not known any more: nothing there is reached, and nothing there is ours. So what is
 * to end or to be removed there is gone, and its app or database can be deleted; all else is refused.
 */
import type { Driver } from '../drivers/driver.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Machine, OwnPaths, OwnTrees, Place } from './place.ts';

export function unreachedPlace(serverId: string): Place {
  return { serverId, driver, edge: driver, machine: () => Promise.resolve(machine), connect: away };
}

function away(): Promise<never> {
  return Promise.reject(
    new ServiceError('AGENT_UNREACHABLE', 'The server that this is on was removed.'),
  );
}

const nothing = (): void => undefined;
const done = (): Promise<void> => Promise.resolve();

const paths: OwnPaths = { root: '', data: '', home: '', temp: '', files: { root: '', temp: '' } };

async function* nothingOf(): AsyncGenerator<Uint8Array, never> {
  yield await away();
  return await away();
}

const trees: OwnTrees = {
  pack: nothingOf,
  archive: nothingOf,
  fill: away,
  fillBeside: away,
  exchange: away,
  hasPrevious: away,
  settle: away,
};

const machine: Machine = {
  uids: null,
  namedUid: null,
  toolchain: { path: [], node: '', staticServer: '', nodeVersion: '' },
  buildEnv: {},
  tools: {
    path: [],
    find: away,
    ask: away,
    ownPostgres: away,
    packagedPostgres: away,
    sqlPrompt: away,
  },
  app: () => ({
    ...paths,
    release: () => '',
    source: () => ({ hasFile: away, hasFolder: away, text: away }),
    ensure: away,
    unpack: away,
    emptyRelease: away,
    trees,
    removeRelease: done,
    keepReleases: done,
    remove: done,
  }),
  database: () => ({
    ...paths,
    run: '',
    makeAnew: away,
    ensure: away,
    write: away,
    writeData: away,
    trees,
    lend: away,
    handOver: away,
    remove: done,
  }),
};

const driver: Driver = {
  name: 'remote',
  runs: 'host',
  images: null,
  volumes: null,
  open: done,
  close: done,
  answers: () => Promise.resolve(false),
  watch: () => nothing,
  acknowledge: nothing,
  start: away,
  inspect: () => Promise.resolve(undefined),
  list: () => Promise.resolve([]),
  stop: done,
  remove: done,
  follow: away,
  probe: away,
  listeners: away,
  openTerminal: away,
  attach: away,
  exec: away,
  pipe: away,
  usage: away,
  removeVolume: done,
  removeVolumesOf: done,
  freePort: away,
  setRoutes: done,
  setCertificates: done,
};

/** Owns the place of a server that is not known any more: nothing there is reached, whatever is asked. */
import type { Driver } from '../drivers/driver.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Place } from './place.ts';

export function unreachedPlace(serverId: string): Place {
  return { serverId, driver, edge: driver, machine: away, connect: away };
}

function away(): Promise<never> {
  return Promise.reject(
    new ServiceError('AGENT_UNREACHABLE', 'The server that this is on was removed.'),
  );
}

const nothing = (): void => undefined;
const done = (): Promise<void> => Promise.resolve();

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
  inspect: away,
  list: away,
  stop: away,
  remove: away,
  follow: away,
  probe: away,
  listeners: away,
  openTerminal: away,
  attach: away,
  exec: away,
  pipe: away,
  usage: away,
  removeVolume: away,
  removeVolumesOf: away,
  freePort: away,
  setRoutes: away,
  setCertificates: away,
};

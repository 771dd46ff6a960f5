/** Owns this machine as a place. */
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Driver } from '../drivers/driver.ts';
import { AppFolders, type Extractor } from './app-folders.ts';
import { DatabaseFolders } from './database-folders.ts';
import type { EdgeDriver, Machine, Place, WorkloadAddress } from './place.ts';

/** The server of what runs on this machine. */
export const localServerId = 'srv_local';

export interface LocalMachineOptions extends Omit<Machine, 'app' | 'database'> {
  /** `<appsRoot>/<app or database>/…`. Only places write there. */
  appsRoot: string;
  extractor: Extractor;
}

export function localMachine({ appsRoot, extractor, ...machine }: LocalMachineOptions): Machine {
  return {
    ...machine,
    app: (owner) => new AppFolders({ ...owner, appsRoot, extractor }),
    database: (owner) => new DatabaseFolders(appsRoot, owner),
  };
}

/** `edge`: see `Place.edge`. */
export function localPlace(driver: Driver, machine: Machine, edge: EdgeDriver = driver): Place {
  return {
    serverId: localServerId,
    driver,
    edge,
    machine: () => Promise.resolve(machine),
    connect: connectHere,
  };
}

/** As `Place.connect`. */
export function connectHere(to: WorkloadAddress, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const at = 'path' in to ? { path: to.path } : { host: to.host, port: to.port };
    const socket = connect(at);
    const abort = (): void => void socket.destroy(signal.reason as Error);
    const settled = (): void => signal.removeEventListener('abort', abort);
    signal.addEventListener('abort', abort, { once: true });
    socket.once('error', (error) => {
      settled();
      reject(error);
    });
    socket.once('connect', () => {
      settled();
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}

/** Owns how this machine becomes a place, and which place a server is. */
import { readFileSync } from 'node:fs';
import type { BulkPool } from '../archives/receiving/bulk-pool.ts';
import { hostBuildEnv } from '../config.ts';
import type { Driver } from '../drivers/driver.ts';
import type { AppsRoot } from '../drivers/process/apps-root.ts';
import { HostPrograms } from '../drivers/process/host-tools.ts';
import { toolchainPaths } from '../drivers/process/toolchain.ts';
import type { Logger } from '../lib/log.ts';
import { appUids, databaseUids } from '../lib/processes/program-uids.ts';
import { localMachine, localPlace } from '../places/local-place.ts';
import type { Place } from '../places/place.ts';

export interface LocalPlaceParts {
  driver: Driver;
  appsRoot: AppsRoot;
  bulk: Pick<BulkPool, 'extract'>;
  /** Prepares the tools that programs of the machine need. */
  prepareTools: () => Promise<void>;
  logger: Logger;
}

/** The folders for programs of the machine. */
// prettier-ignore
const programFolders = [
  '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin',
];

export function thisPlace(parts: LocalPlaceParts): Place {
  const { driver, bulk, prepareTools, logger } = parts;
  const { appsRoot, perAppUid } = parts.appsRoot;
  const toolchain = toolchainPaths(appsRoot);
  /** The node program that every uid may run. */
  const node = async (): Promise<string> => {
    await prepareTools();
    return toolchain.node;
  };
  // In containers the image decides about uids.
  const hasOwnUids = perAppUid && driver.runs === 'host';
  const machine = localMachine({
    appsRoot,
    // Every release is extracted before anything of it runs, so the tools are prepared here.
    extractor: {
      extract: async (archive, format, into, options) => {
        await prepareTools();
        return await bulk.extract(archive, format, into, options);
      },
    },
    uids: hasOwnUids ? { app: appUids, database: databaseUids } : null,
    namedUid: hasOwnUids ? uidOfNobody() : null,
    toolchain: {
      path: [toolchain.binDir, ...programFolders],
      node: toolchain.node,
      staticServer: toolchain.staticServer,
      nodeVersion: process.versions.node,
    },
    buildEnv: hostBuildEnv(),
    tools: new HostPrograms({ appsRoot, path: programFolders, node, logger }),
  });
  return localPlace(driver, machine);
}

/** The uid of `nobody`, which most machines have; null where this one has none. */
function uidOfNobody(): number | null {
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = accounts.find((account) => account.startsWith('nobody:'));
  const uid = Number(line?.split(':')[2]);
  return Number.isInteger(uid) && uid > 0 ? uid : null;
}

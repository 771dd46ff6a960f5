/** Owns what this machine is to those who run apps on it: its tools, its uids and its folders. */
import { readFileSync } from 'node:fs';
import type { AppsRoot } from '../drivers/process/apps-root.ts';
import { HostPrograms } from '../drivers/process/host-tools.ts';
import { toolchainPaths } from '../drivers/process/toolchain.ts';
import type { Logger } from '../lib/log.ts';
import { appUids, databaseUids } from '../lib/processes/program-uids.ts';
import type { Extractor } from './app-folders.ts';
import { localMachine } from './local-place.ts';
import type { Machine } from './place.ts';

export interface ThisMachineOptions {
  appsRoot: AppsRoot;
  /** In containers the image decides about uids. */
  runs: 'host' | 'image';
  extractor: Extractor;
  /** Prepares the tools that programs of the machine need. */
  prepareTools: () => Promise<unknown>;
  buildEnv: Machine['buildEnv'];
  logger: Logger;
}

/** The folders for programs of the machine. */
// prettier-ignore
const programFolders = [
  '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin',
];

export function thisMachine(options: ThisMachineOptions): Machine {
  const { runs, extractor, prepareTools, buildEnv, logger } = options;
  const { appsRoot, perAppUid } = options.appsRoot;
  const toolchain = toolchainPaths(appsRoot);
  /** The node program that every uid may run. */
  const node = async (): Promise<string> => {
    await prepareTools();
    return toolchain.node;
  };
  const hasOwnUids = perAppUid && runs === 'host';
  return localMachine({
    ...{ appsRoot, buildEnv },
    // Every release is extracted before anything of it runs, so the tools are prepared here.
    extractor: {
      extract: async (archive, format, into, how) => {
        await prepareTools();
        return await extractor.extract(archive, format, into, how);
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
    tools: new HostPrograms({ appsRoot, path: programFolders, node, logger }),
  });
}

/** The uid of `nobody`, which most machines have; null where this one has none. */
function uidOfNobody(): number | null {
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = accounts.find((account) => account.startsWith('nobody:'));
  const uid = Number(line?.split(':')[2]);
  return Number.isInteger(uid) && uid > 0 ? uid : null;
}

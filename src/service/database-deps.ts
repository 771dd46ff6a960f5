/** Owns how databases are composed: their engines, their programs, their bounds. */
import { readFileSync } from 'node:fs';
import { databaseDefaults } from '../actors/database/deps.ts';
import type { DatabaseDeps } from '../actors/database/deps.ts';
import { engines } from '../actors/database/engines/engines.ts';
import { HostPrograms } from '../drivers/process/host-tools.ts';
import { toolchainPaths } from '../drivers/process/toolchain.ts';
import { type ActorParts, programFolders } from './actor-parts.ts';

/** Own uids for databases, above those of apps. */
const databaseUids = { first: 300_000, last: 309_999 };
export function databaseDeps(parts: ActorParts): DatabaseDeps {
  const { config, reader, driver, streams, secrets, clock, logger, prepareTools } = parts;
  const { appsRoot, perAppUid } = parts.appsRoot;
  /** The node that uids of their own may run. */
  const node = async (): Promise<string> => {
    await prepareTools();
    return toolchainPaths(appsRoot).node;
  };
  const own = perAppUid && driver.runs === 'host';
  return {
    ...{ reader, driver, streams, secrets, clock, logger },
    engines,
    options: {
      ...databaseDefaults,
      root: appsRoot,
      uids: own ? databaseUids : null,
      namedUid: own ? namedUid() : null,
      tools: new HostPrograms({ appsRoot, path: programFolders, node, logger }),
      images: config.databaseImages,
      healthTimeoutMs: config.healthTimeoutSeconds * 1000,
    },
  };
}

/** Of the account that stands for nobody, which every machine has; null where this one has none. */
function namedUid(): number | null {
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = accounts.find((account) => account.startsWith('nobody:'));
  const uid = Number(line?.split(':')[2]);
  return Number.isInteger(uid) && uid > 0 ? uid : null;
}

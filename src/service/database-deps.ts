/** Owns how databases are composed: their engines, their programs, their bounds. */
import { readFileSync } from 'node:fs';
import { databaseDefaults } from '../actors/database/deps.ts';
import type { DatabaseDeps } from '../actors/database/deps.ts';
import { engines } from '../actors/database/engines/engines.ts';
import type { Config } from '../config.ts';
import type { AppsRoot } from '../drivers/process/apps-root.ts';
import { HostPrograms } from '../drivers/process/host-tools.ts';

/** Own uids for databases, above those of apps. */
const databaseUids = { first: 300_000, last: 309_999 };
const programPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export interface DatabasePartsOptions extends Omit<DatabaseDeps, 'options' | 'engines'> {
  config: Config;
  place: AppsRoot;
  /** The node that uids of their own may run, once it is made ready. */
  node: () => Promise<string>;
}

export function databaseDeps(options: DatabasePartsOptions): DatabaseDeps {
  const { config, place, node, ...deps } = options;
  const { appsRoot, perAppUid } = place;
  const own = perAppUid && deps.driver.runs === 'host';
  return {
    ...deps,
    engines,
    options: {
      ...databaseDefaults,
      root: appsRoot,
      uids: own ? databaseUids : null,
      namedUid: own ? namedUid() : null,
      tools: new HostPrograms({ appsRoot, path: programPath, node, logger: deps.logger }),
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

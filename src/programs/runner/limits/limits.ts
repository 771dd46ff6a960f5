/** Owns the choice of what limits workloads here: control groups where we may make some, else less. */
import type { Logger } from '../../../lib/log.ts';
import { openBareLimits } from './bare-confinement.ts';
import { openCgroups, readCgroupHost } from './cgroups.ts';
import type { Limits } from './confinement.ts';

/** `instance`: names the groups of this data directory, unlike those of any other. */
export function openLimits(instance: string, logger: Logger, host = readCgroupHost()): Limits {
  const limits = openCgroups(host, instance, logger) ?? openBareLimits(host.isRoot);
  if (limits.missing.length === 0) logger.info({ kind: limits.kind }, 'limits');
  else logger.warn({ kind: limits.kind, missing: limits.missing }, 'limits_not_enforced');
  return limits;
}

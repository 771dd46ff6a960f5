/** Owns the programs of the machine that make networks, and how each is called. */
import { findTools, type Tool } from '../system-tools.ts';

export interface NetworkTools {
  ip: Tool;
  /** Says all rules. */
  save: Tool;
  /** Adds rules to those that are there, each table at once. */
  restore: Tool;
  nsenter: Tool;
  unshare: Tool;
}

/** Another program may be changing rules. */
const lockSeconds = '10';

/** Names of those that are not there in place of all. */
export function findNetworkTools(): NetworkTools | { lacking: string[] } {
  const found = findTools(['ip', 'iptables-save', 'iptables-restore', 'nsenter', 'unshare']);
  if ('lacking' in found) return found;
  return {
    ip: [found.ip],
    save: [found['iptables-save']],
    restore: [found['iptables-restore'], '--wait', lockSeconds, '--noflush'],
    nsenter: [found.nsenter],
    unshare: [found.unshare],
  };
}

/** The same tool inside a network namespace, given by a path. */
export function inside(
  { nsenter }: Pick<NetworkTools, 'nsenter'>,
  space: string,
  tool: Tool,
): Tool {
  return [...nsenter, `--net=${space}`, '--', ...tool];
}

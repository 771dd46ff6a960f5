/** Owns what the edge is told of the configuration. */
import type { Config } from '../config.ts';
import type { EdgeSettings } from '../protocol/runner-messages.ts';

export type EdgeOptions = Pick<
  Config,
  'edgeHost' | 'edgePort' | 'edgeTlsPort' | 'edgePanel' | 'edgeProcesses' | 'trustedProxies'
>;

export function edgeSettings(config: EdgeOptions): EdgeSettings {
  const { edgeHost: host, edgePort: port, edgeTlsPort: tlsPort, trustedProxies } = config;
  const { edgeProcesses: processes } = config;
  const leadsToPanel = config.edgePanel === 'on';
  const address = { host, port, ...(tlsPort !== null && { tlsPort }) };
  return { ...address, trustedProxies, processes, leadsToPanel };
}

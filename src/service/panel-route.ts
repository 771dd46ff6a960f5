/** Owns how the edge leads to the panel, where it does: by which host, and to which sockets. */
import { isIP } from 'node:net';
import type { Config } from '../config.ts';
import { defaultEdgeSettings } from '../protocol/app-edge-settings.ts';
import { panelSocketOf } from '../protocol/panel-sockets.ts';
import type { EdgeRoute } from '../protocol/workload.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import { publicUrlOf } from './own-hosts.ts';

export type PanelOptions = Pick<
  Config,
  'edgePanel' | 'gatewayThreads' | 'host' | 'panelHstsSeconds' | 'port' | 'publicUrl'
>;

/** Null where the edge does not lead there: it is off, or the public URL names no host that has a certificate. */
export function panelRoute(reader: Reader, config: PanelOptions): EdgeRoute | null {
  if (config.edgePanel === 'off') return null;
  const { protocol, hostname, origin } = new URL(publicUrlOf(reader, config));
  const isName = hostname.includes('.') && isIP(hostname) === 0 && !hostname.startsWith('*');
  if (protocol !== 'https:' || !isName) return null;
  const sockets = Array.from({ length: config.gatewayThreads }, (_, at) => panelSocketOf(at));
  return {
    host: hostname,
    targets: sockets.map((socket) => ({ host: hostname, port: 0, socket })),
    vacancy: 'panel_away',
    panel: { origin },
    settings: { ...defaultEdgeSettings, hsts: config.panelHstsSeconds },
  };
}

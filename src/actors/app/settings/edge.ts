/** Owns what an app's settings of the edge may be: as `validate.ts`, whose refusals these are. */
import { type AppEdgeSettings, defaultEdgeSettings } from '../../../protocol/app-edge-settings.ts';
import type { AppEdgePatch } from '../protocol.ts';
import { checkInteger, checkText } from './validate.ts';

const daySeconds = 86_400;
/** What lists of hosts that browsers know by heart ask for is one year. */
const hstsMax = 2 * 365 * daySeconds;

/** `base` with the fields of `patch`; undefined leaves a field as it is. */
export function checkEdge(base: Readonly<AppEdgeSettings>, patch: AppEdgePatch): AppEdgeSettings {
  const edge = { ...base };
  for (const key of Object.keys(defaultEdgeSettings) as (keyof AppEdgeSettings)[]) {
    setField(edge, key, patch[key]);
  }
  const { idleSeconds, totalSeconds, maxBodyMb, maxConnections, hsts } = edge;
  checkInteger('edge.idleSeconds', idleSeconds, 1, daySeconds);
  checkInteger('edge.totalSeconds', totalSeconds, 1, daySeconds);
  checkInteger('edge.maxBodyMb', maxBodyMb, 1, 1_048_576);
  checkInteger('edge.maxConnections', maxConnections, 1, 100_000);
  checkInteger('edge.hsts', hsts, 0, hstsMax);
  const maintenanceText = checkText(
    edge.maintenanceText,
    /^\P{Cc}{1,1000}$/u,
    'edge.maintenanceText must have at most 1000 characters, on one line.',
  );
  return { ...edge, maintenanceText };
}

function setField<K extends keyof AppEdgeSettings>(
  edge: AppEdgeSettings,
  key: K,
  value: AppEdgeSettings[K] | null | undefined,
): void {
  if (value !== undefined) edge[key] = value ?? defaultEdgeSettings[key];
}

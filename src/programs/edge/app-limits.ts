/** Owns what an app's settings say of a request before it goes on its way. */
import type { AppEdgeSettings } from '../../protocol/app-edge-settings.ts';
import type { RequestHead } from './http1/request-head.ts';
import { crowdedNotice, maintenanceNotice, type Notice, noticeOf } from './pages.ts';
import type { LiveRoute } from './routes.ts';

const mebibyte = 1024 * 1024;

/** The answer in the app's place; undefined: the request goes on. It is among those that are under way. */
export function refusalBefore(route: LiveRoute, { body }: RequestHead): Notice | undefined {
  const { settings, load } = route;
  if (settings.maintenance) return maintenanceNotice(route);
  if (settings.maxConnections !== null && load.underWay > settings.maxConnections)
    return crowdedNotice(route);
  return typeof body === 'number' && body > bodyBytesMax(settings)
    ? noticeOf(413, route)
    : undefined;
}

/** Of a request's body. */
export function bodyBytesMax({ maxBodyMb }: Readonly<AppEdgeSettings>): number {
  return maxBodyMb === null ? Infinity : maxBodyMb * mebibyte;
}

/** Owns the routes of one app. They follow from the record alone, so they are the same after a crash. */
import { isDeepStrictEqual } from 'node:util';
import { localServerId } from '../../places/local-place.ts';
import { appSocketOf } from '../../protocol/panel-sockets.ts';
import type { EdgeRoute, Vacancy } from '../../protocol/workload.ts';
import type { AppRecord } from '../../store/records/records.ts';

/** One for each of its hosts, its own first; none for an app in trash: its hosts lead nowhere. */
export function routesOf(app: AppRecord, hostOf: (slug: string) => string): EdgeRoute[] {
  if (app.deletedAtMs !== null) return [];
  const { id, name, edge: settings, hosts = [] } = app;
  const vacancy = vacancyOf(app);
  const way = {
    targets: targetsOf(app),
    app: { id, name },
    ...(vacancy && { vacancy }),
    ...(settings && { settings }),
  };
  const own = { host: hostOf(app.slug), ...way };
  const others = hosts.map(({ host, redirectTo }) => ({
    ...{ host, ...way },
    ...(redirectTo !== undefined && { redirectTo }),
  }));
  return [own, ...others];
}

/**
 * Those that the edge of a server has of an app: of its own, and, on this machine, of others, too, by way of this
 * service.
 */
export function routesAt(
  serverId: string,
  app: AppRecord,
  hostOf: (slug: string) => string,
): EdgeRoute[] {
  if (app.serverId === serverId) return routesOf(app, hostOf);
  if (serverId !== localServerId) return [];
  const socket = appSocketOf(app.id);
  return routesOf(app, hostOf).map((route) => ({
    ...route,
    targets: route.targets.map(() => ({ host: app.id, port: 0, socket })),
  }));
}

export function areSameRoutes(a: readonly EdgeRoute[], b: readonly EdgeRoute[]): boolean {
  return isDeepStrictEqual(a, b);
}

/** Whether they differ in what pages say at most. */
export function areSameButForWords(a: readonly EdgeRoute[], b: readonly EdgeRoute[]): boolean {
  const without = (route: EdgeRoute): object => ({ ...route, vacancy: undefined, app: undefined });
  return isDeepStrictEqual(a.map(without), b.map(without));
}

function targetsOf({ run: { live } }: AppRecord): EdgeRoute['targets'] {
  if (live === null) return [];
  const { host, port, targetPort = port, image, workloadId: workload } = live;
  // What runs by an image is no workload of the edge's runner.
  return [{ host, port: targetPort, ...(image === undefined && { workload }) }];
}

/** Undefined when the app runs, or when the reason is not known. */
function vacancyOf(app: AppRecord): Vacancy | undefined {
  const { status, run, desired } = app;
  const isUnderWay = status === 'queued' || status === 'building';
  if (app.liveDeploymentId === null) {
    if (isUnderWay) return 'first_deployment';
    return status === 'error' ? 'first_deployment_failed' : 'not_deployed';
  }
  if (run.crashing) return 'ended';
  if (run.live !== null) return undefined;
  if (isUnderWay) return 'starting';
  return desired === 'stopped' ? 'stopped' : undefined;
}

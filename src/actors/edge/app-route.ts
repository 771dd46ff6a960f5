/** Owns the route of one app. It follows from the record alone, so it is the same after a crash. */
import { isDeepStrictEqual } from 'node:util';
import type { EdgeRoute, Vacancy } from '../../protocol/workload.ts';
import type { AppRecord } from '../../store/records/records.ts';

/** Null for an app in trash: its host leads nowhere. */
export function routeOf(app: AppRecord, hostOf: (slug: string) => string): EdgeRoute | null {
  if (app.deletedAtMs !== null) return null;
  const { id, name, edge: settings } = app;
  const vacancy = vacancyOf(app);
  return {
    host: hostOf(app.slug),
    targets: targetsOf(app),
    app: { id, name },
    ...(vacancy && { vacancy }),
    ...(settings && { settings }),
  };
}

export function isSameRoute(a: EdgeRoute | null, b: EdgeRoute | null): boolean {
  return isDeepStrictEqual(a, b);
}

/** Whether they differ in what pages say at most. */
export function isSameButForWords(a: EdgeRoute, b: EdgeRoute): boolean {
  const without = { vacancy: undefined, app: undefined };
  return isDeepStrictEqual({ ...a, ...without }, { ...b, ...without });
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

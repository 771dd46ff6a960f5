/**
 * Owns what the containers of an app are called, which workload each is and where its lines are.
 * An app has one, `app`; one of a compose file has one for each service, by its name.
 */
import type { Reader } from '../../../store/reader-and-journal.ts';
import type { LogName } from '../../../logs/files/log.ts';
import type { AppRecord, Instance } from '../../../store/records/records.ts';
import { tables } from '../../../store/records/tables.ts';

/** The one container of an app that is no stack, wherever one has to be named. */
export const defaultContainer = 'app';

type Runs = Pick<AppRecord, 'id' | 'run'>;

/** Names of an app's containers, the default first, also while they do not run. */
export function containerNames(
  reader: Pick<Reader, 'get'>,
  app: Readonly<AppRecord>,
): readonly string[] {
  if (app.source !== 'COMPOSE') return [defaultContainer];
  const { live, next } = app.run;
  const instance = live ?? next;
  if (instance?.service !== undefined) {
    return [instance.service, ...(instance.parts ?? []).map(({ service }) => service)];
  }
  const deploymentId = app.liveDeploymentId ?? app.latestDeploymentId;
  const plan = deploymentId === null ? null : reader.get(tables.deployments, deploymentId)?.plan;
  if (!plan?.stack) return [defaultContainer];
  const { main, images } = plan.stack;
  return [main, ...Object.keys(images).filter((service) => service !== main)];
}

/** The log of one of its containers; `names` as of `containerNames`. */
export function containerLog(appId: string, names: readonly string[], name: string): LogName {
  return name === '' || name === names[0] ? `app:${appId}` : `app:${appId}.${name}`;
}

/** What runs as this container now; undefined when nothing does. */
export function containerWorkload({ run }: Runs, name: string): string | undefined {
  const { live } = run;
  if (live === null) return undefined;
  if (name === '' || name === (live.service ?? defaultContainer)) return live.workloadId;
  return live.parts?.find(({ service }) => service === name)?.workloadId;
}

/** All workloads of an instance, its main one first. */
export function workloadsOf(instance: Readonly<Instance> | null | undefined): string[] {
  if (!instance) return [];
  return [instance.workloadId, ...(instance.parts ?? []).map(({ workloadId }) => workloadId)];
}

/** The log of a workload that is another than the app's main one; undefined for that one. */
export function partLog(app: Runs | null, workloadId: string): LogName | undefined {
  if (app === null) return undefined;
  const { live, next, draining } = app.run;
  for (const instance of [live, next, ...draining]) {
    const part = instance?.parts?.find((one) => one.workloadId === workloadId);
    if (part !== undefined) return `app:${app.id}.${part.service}`;
  }
  return undefined;
}

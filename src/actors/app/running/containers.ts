/**
 * Owns the names of an app's containers, which workload each is and where its lines are. An app has one
 * container, `app`; an app of a compose file has one for each service, by its name.
 */
import type { Reader } from '../../../store/reader-and-journal.ts';
import type { LogName } from '../../../logs/files/log.ts';
import type { AppRecord, Instance } from '../../../store/records/records.ts';
import { tables } from '../../../store/records/tables.ts';

/** The name of the one container of an app that is no stack. */
export const defaultContainer = 'app';

type Runs = Pick<AppRecord, 'id' | 'run'>;

/** The names of an app's containers, the default first. They are known even while nothing runs. */
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

/** The log of one container; `names` comes from `containerNames`. */
export function containerLog(appId: string, names: readonly string[], name: string): LogName {
  return name === '' || name === names[0] ? `app:${appId}` : `app:${appId}.${name}`;
}

/** The workload that runs as this container now; undefined when none does. */
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

/** The workload in which the source of a deployment is fetched by git, while its actor lives. */
export function fetchJobOf(deploymentId: string, epoch: number): string {
  return `${deploymentId}-git-${String(epoch)}`;
}

/** The log of a workload other than the app's main one; undefined for the main one. */
export function partLog(app: Runs | null, workloadId: string): LogName | undefined {
  if (app === null) return undefined;
  const { live, next, draining } = app.run;
  for (const instance of [live, next, ...draining]) {
    const part = instance?.parts?.find((one) => one.workloadId === workloadId);
    if (part !== undefined) return `app:${app.id}.${part.service}`;
  }
  return undefined;
}

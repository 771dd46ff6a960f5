/**
 * Owns what is started for a stack: one workload for each service.
 *
 * 1. The main service has the instance's own workload: its health and its address are the app's.
 * 2. Services reach each other by name in a network of the app. The main service is in the team's
 *    network too.
 * 3. The limits of the app hold for each service. The file may only ask for less.
 */
import type { ContainerSpec, WorkloadSpec } from '../../../protocol/workload.ts';
import type { AppRecord } from '../../../store/records/records.ts';
import { dataName, volumeOf } from '../../workload/volumes.ts';
import type { Stack, StackService } from './stack.ts';

export interface StackPart {
  service: StackService;
  spec: WorkloadSpec;
}

export interface PartsOptions {
  /** With the volumes that restores have made. */
  app: Pick<AppRecord, 'id' | 'run'>;
  /** The instance's own workload, which the main service gets. */
  workloadId: string;
  /** The port of the main service. */
  port: number;
  /** The images by service, under the names that the driver gave them. */
  images: Readonly<Record<string, string>>;
  network: { team: string; aliases: readonly string[] };
  /** The limits of the app. No service may have more. */
  resources: Limits;
  stopGraceMs: number;
}

type Limits = StackService['resources'];

/** The app's persistent folder inside its main service. */
const dataDir = '/data';

/** The parts in the order in which they start. */
export function partsOf(stack: Stack, options: PartsOptions): StackPart[] {
  return stack.services.map((service, at) => {
    const isMain = service.name === stack.main;
    const container = containerOf(service, options, isMain);
    const spec: WorkloadSpec = {
      id: isMain ? options.workloadId : partId(options.workloadId, at),
      owner: options.app.id,
      kind: service.runsOnce ? 'job' : 'service',
      command: service.command ?? [],
      workingDir: service.workingDir ?? '',
      env: isMain ? mainEnv(service, options) : service.env,
      uid: null,
      port: isMain ? options.port : null,
      container,
      resources: { ...within(service.resources, options.resources), replicas: 1 },
      deadlineMs: null,
      stopGraceMs: service.stopGraceMs ?? options.stopGraceMs,
    };
    return { service, spec };
  });
}

function within(wanted: Limits, most: Limits): Limits {
  const lower = (one: number | null, other: number | null): number | null =>
    one === null || other === null ? (one ?? other) : Math.min(one, other);
  return {
    memoryMb: lower(wanted.memoryMb, most.memoryMb),
    cpus: lower(wanted.cpus, most.cpus),
    pids: lower(wanted.pids, most.pids),
  };
}

/** The workload of a service other than the main one, named by the service's place in their order. */
export function partId(workloadId: string, at: number): string {
  return `${workloadId}-p${String(at)}`;
}

function mainEnv(service: StackService, { port }: PartsOptions): Record<string, string> {
  return { PORT: String(service.port ?? port), APP_DATA_DIR: dataDir, ...service.env };
}

function containerOf(
  service: StackService,
  { app, images, network }: PartsOptions,
  isMain: boolean,
): ContainerSpec {
  const named = service.volumes.flatMap(({ name, path, readOnly }) =>
    name === null ? [] : [{ name: volumeOf(app, `volume-${name}`), path, readOnly }],
  );
  const ownsData = isMain && !service.volumes.some(({ path }) => path === dataDir);
  return {
    image: images[service.name] ?? '',
    port: isMain ? service.port : null,
    volumes: ownsData ? [...named, { name: volumeOf(app, dataName), path: dataDir }] : named,
    network: `${app.id}-stack`,
    reachedAt: 'address',
    aliases: [service.name],
    furtherNetworks: isMain ? [{ name: network.team, aliases: network.aliases }] : [],
    settings: service.settings,
  };
}

/**
 * Owns what is started of a stack: a workload for each of its services.
 *
 * 1. The main service has the instance's own workload: its health and its address are the app's.
 * 2. Services reach each other by their names in a network of the app; the main one is in the
 *    team's network too.
 * 3. The limits of the app hold for each service; the file may only ask for less.
 */
import type { ContainerSpec, WorkloadSpec } from '../../../protocol/workload.ts';
import type { Stack, StackService } from './stack.ts';

export interface StackPart {
  service: StackService;
  spec: WorkloadSpec;
}

export interface PartsOptions {
  appId: string;
  /** The instance's own, which the main service gets. */
  workloadId: string;
  /** Of the main service. */
  port: number;
  /** As the driver named them, by service. */
  images: Readonly<Record<string, string>>;
  network: { team: string; aliases: readonly string[] };
  /** Of the app: none of its services may have more. */
  resources: Limits;
  stopGraceMs: number;
}

type Limits = StackService['resources'];

/** Where the app's one persistent folder lies in its main service. */
const dataDir = '/data';

/** In the order in which they start. */
export function partsOf(stack: Stack, options: PartsOptions): StackPart[] {
  return stack.services.map((service, at) => {
    const isMain = service.name === stack.main;
    const container = containerOf(service, options, isMain);
    const spec: WorkloadSpec = {
      id: isMain ? options.workloadId : partId(options.workloadId, at),
      owner: options.appId,
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

/** The workload of another service than the main one, by where it stands in their order. */
export function partId(workloadId: string, at: number): string {
  return `${workloadId}-p${String(at)}`;
}

function mainEnv(service: StackService, { port }: PartsOptions): Record<string, string> {
  return { PORT: String(service.port ?? port), APP_DATA_DIR: dataDir, ...service.env };
}

function containerOf(
  service: StackService,
  { appId, images, network }: PartsOptions,
  isMain: boolean,
): ContainerSpec {
  const named = service.volumes.flatMap(({ name, path, readOnly }) =>
    name === null ? [] : [{ name: volumeName(appId, name), path, readOnly }],
  );
  const ownsData = isMain && !service.volumes.some(({ path }) => path === dataDir);
  return {
    image: images[service.name] ?? '',
    port: isMain ? service.port : null,
    volumes: ownsData ? [...named, { name: `${appId}-data`, path: dataDir }] : named,
    network: `${appId}-stack`,
    reachedAt: 'address',
    aliases: [service.name],
    furtherNetworks: isMain ? [{ name: network.team, aliases: network.aliases }] : [],
    settings: service.settings,
  };
}

/** Its name at the driver, which is no other app's, nor that of the app's own folder. */
function volumeName(appId: string, name: string): string {
  return `${appId}-volume-${name}`;
}

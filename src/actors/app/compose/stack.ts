/**
 * Owns the plan of a stack: the content of a compose file with its variables put in.
 *
 * 1. Every deployment makes the plan again from the text, so that what was allowed once is not trusted
 *    for ever.
 * 2. Services stand in the order in which they start. A service comes before those that wait for it.
 */
import type { ContainerHealthCheck, ContainerSettings } from '../../../protocol/workload.ts';
import { readDocument } from './document.ts';
import { interpolate, withoutValues, type Variables } from './interpolate.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import {
  checkFile,
  type ComposeFile,
  type ComposeService,
  type Condition,
  conditions,
} from './schema.ts';
import type { VolumeUse } from './values.ts';

export interface Stack {
  services: readonly StackService[];
  /** The service that takes the app's traffic. */
  main: string;
  /** Keys of the file that have no effect here, as sentences for the deployment's log. */
  notes: readonly string[];
}

export interface StackService {
  name: string;
  source: { reference: string } | { dockerfile: string; args: Variables; target: string | null };
  /** Null: the image's own command. */
  command: readonly string[] | null;
  env: Variables;
  /** The port where the service listens; null when the file names none. */
  port: number | null;
  volumes: readonly VolumeUse[];
  workingDir: string | null;
  stopGraceMs: number | null;
  settings: ContainerSettings;
  resources: { memoryMb: number | null; cpus: number | null; pids: number | null };
  /** The service runs once and ends, as a migration does. */
  runsOnce: boolean;
  after: readonly { service: string; until: 'started' | 'healthy' | 'completed' }[];
}

/** Rejects with WorkFailed, which names the key and what is allowed. */
export async function readStack(
  text: string,
  options: { variables: Variables; port: number | null },
): Promise<Stack> {
  const file = await readFile(text, options.variables);
  checkWhole(file);
  const services = Object.entries(file.services).map(([name, service]) =>
    serviceOf(name, service, options.variables),
  );
  const ordered = inOrder(services);
  return { services: ordered, main: mainOf(file, options.port), notes: notesOf(file) };
}

/**
 * Refuses what a file must not contain. The file may still be unfinished: a service, an image or a port
 * may be missing. Rejects with WorkFailed.
 */
export async function checkAllowed(text: string, variables: Variables): Promise<void> {
  await readFile(text, variables);
}

async function readFile(text: string, variables: Variables): Promise<ComposeFile> {
  const document = await readDocument(text);
  const used = new Set<string>();
  try {
    const file = checkFile(interpolate(document, variables, used));
    checkNames(file);
    return file;
  } catch (error) {
    if (!(error instanceof WorkFailed)) throw error;
    throw new WorkFailed(withoutValues(error.message, variables, used), { cause: error });
  }
}

function checkWhole({ services }: ComposeFile): void {
  const all = Object.entries(services);
  if (all.length === 0) throw new WorkFailed('services must name at least one service.');
  for (const [name, { image, build }] of all) {
    if ((image === undefined) !== (build === undefined)) continue;
    throw new WorkFailed(`services.${name} needs either image or build.dockerfile_inline.`);
  }
}

/** Checks that every volume and service in use is declared. */
function checkNames(file: ComposeFile): void {
  for (const [name, service] of Object.entries(file.services)) {
    const place = `services.${name}`;
    const volumes = (service.volumes ?? []).map(volumeOf);
    const mounted = new Set<string>();
    for (const path of [...volumes.map(({ path }) => path), ...(service.tmpfs ?? [])]) {
      const folder = path.replace(/\/$/, '');
      if (mounted.has(folder)) throw new WorkFailed(`${place} mounts ${folder} twice.`);
      mounted.add(folder);
    }
    for (const { name: volume } of volumes) {
      if (volume === null || (file.volumes && Object.hasOwn(file.volumes, volume))) continue;
      throw new WorkFailed(`${place}.volumes names ${volume}, which volumes does not declare.`);
    }
    const networks = service.networks ?? [];
    for (const network of Array.isArray(networks) ? networks : Object.keys(networks)) {
      if (network === 'default' || (file.networks && Object.hasOwn(file.networks, network)))
        continue;
      throw new WorkFailed(`${place}.networks names ${network}, which networks does not declare.`);
    }
    for (const other of Object.keys(service.depends_on ?? {})) {
      if (Object.hasOwn(file.services, other)) continue;
      throw new WorkFailed(`${place}.depends_on names ${other}, which is no service.`);
    }
  }
}

function serviceOf(name: string, service: ComposeService, variables: Variables): StackService {
  const { build, deploy } = service;
  const limits = deploy?.resources?.limits;
  const memory = service.mem_limit ?? limits?.memory ?? null;
  const waits: Readonly<Record<string, { condition: Condition }>> = service.depends_on ?? {};
  const volumes = (service.volumes ?? []).map(volumeOf);
  return {
    name,
    source:
      build === undefined
        ? { reference: service.image ?? '' }
        : {
            dockerfile: build.dockerfile_inline,
            args: settled(build.args, variables),
            target: build.target ?? null,
          },
    command: service.command ?? null,
    env: settled(service.environment, variables),
    port: portsOf(service)[0] ?? null,
    volumes,
    workingDir: service.working_dir ?? null,
    stopGraceMs: service.stop_grace_period ?? null,
    settings: {
      entrypoint: service.entrypoint ?? null,
      user: service.user ?? null,
      hostname: service.hostname ?? null,
      stopSignal: service.stop_signal ?? null,
      init: service.init ?? null,
      readOnly: service.read_only ?? false,
      tty: service.tty ?? false,
      tmpfs: service.tmpfs ?? [],
      unnamedVolumes: volumes.flatMap(({ name: volume, path }) => (volume === null ? [path] : [])),
      labels: service.labels ?? {},
      health: healthOf(service),
    },
    resources: {
      memoryMb: memory === null ? null : Math.max(Math.ceil(memory / 2 ** 20), 16),
      cpus: service.cpus ?? limits?.cpus ?? null,
      pids: service.pids_limit ?? limits?.pids ?? null,
    },
    runsOnce: service.restart === 'no',
    after: Object.entries(waits).map(([other, { condition }]) => ({
      service: other,
      until: conditions[condition],
    })),
  };
}

/** A key without a value stands for the app's variable of that name. */
function settled(
  map: Readonly<Record<string, string | null>> | undefined,
  variables: Variables,
): Variables {
  const entries = Object.entries(map ?? {}).flatMap(([key, value]) => {
    const known = value ?? (Object.hasOwn(variables, key) ? variables[key] : undefined);
    return known === undefined ? [] : [[key, known] as const];
  });
  return Object.fromEntries(entries);
}

function volumeOf(use: NonNullable<ComposeService['volumes']>[number]): VolumeUse {
  if ('path' in use) return use;
  return { name: use.source ?? null, path: use.target, readOnly: use.read_only };
}

function portsOf(service: ComposeService): number[] {
  const published = (service.ports ?? []).map((one) =>
    typeof one === 'number' ? one : one.target,
  );
  return [...published, ...(service.expose ?? [])];
}

function healthOf({ healthcheck }: ComposeService): ContainerHealthCheck | null {
  if (healthcheck === undefined) return null;
  const { test, disable } = healthcheck;
  return {
    test: disable === true ? [] : testOf(test),
    intervalMs: healthcheck.interval ?? null,
    timeoutMs: healthcheck.timeout ?? null,
    startPeriodMs: healthcheck.start_period ?? null,
    retries: healthcheck.retries ?? null,
  };
}

function testOf(test: string | readonly string[] | undefined): readonly string[] | null {
  if (test === undefined) return null;
  if (typeof test === 'string') return ['CMD-SHELL', test];
  return test[0] === 'NONE' ? [] : test;
}

/** The services in start order: first those that others wait for, else the order of the file. */
function inOrder(services: readonly StackService[]): StackService[] {
  const byName = new Map(services.map((service) => [service.name, service]));
  const ordered = new Set<StackService>();
  const visit = (service: StackService, above: readonly string[]): void => {
    if (ordered.has(service)) return;
    if (above.includes(service.name)) {
      const circle = [...above.slice(above.indexOf(service.name)), service.name].join(' -> ');
      throw new WorkFailed(`services wait for each other: ${circle}.`);
    }
    for (const { service: other } of service.after) {
      const needed = byName.get(other);
      if (needed !== undefined) visit(needed, [...above, service.name]);
    }
    ordered.add(service);
  };
  for (const service of services) visit(service, []);
  return [...ordered];
}

/**
 * The service with the app's port, else one that publishes a port, else one that exposes one. Among
 * several, `web` or `app` wins.
 */
function mainOf({ services }: ComposeFile, port: number | null): string {
  const all = Object.entries(services);
  const listens = all.filter(([, service]) => portsOf(service).length > 0);
  const published = listens.filter(([, service]) => (service.ports ?? []).length > 0);
  const chosen =
    (port === null ? [] : listens.filter(([, service]) => portsOf(service).includes(port)))[0] ??
    preferred(published) ??
    preferred(listens) ??
    (all.length === 1 && port !== null ? all[0] : undefined);
  if (chosen !== undefined) return chosen[0];
  throw new WorkFailed(
    'No service says where it listens: give the one that takes the traffic a port, in ports or expose.',
  );
}

type Named = [string, ComposeService];

function preferred(services: readonly Named[]): Named | undefined {
  return services.find(([name]) => name === 'web' || name === 'app') ?? services[0];
}

function notesOf({ services }: ComposeFile): string[] {
  return Object.entries(services).flatMap(([name, service]) => {
    const notes: string[] = [];
    if ((service.ports ?? []).length > 0) {
      notes.push(
        `services.${name}.ports: no port of the host is opened; the app is reached at its address.`,
      );
    }
    if (service.container_name !== undefined) {
      notes.push(`services.${name}.container_name is not used; the container is called ${name}.`);
    }
    return notes;
  });
}

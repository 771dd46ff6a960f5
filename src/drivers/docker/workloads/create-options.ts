/** Owns how a workload becomes the options of a container. */
import { availableParallelism } from 'node:os';

import type Dockerode from 'dockerode';

import type {
  ContainerHealthCheck,
  ContainerSpec,
  WorkloadSpec,
} from '../../../protocol/workload.ts';
import type { Names } from '../engine/names.ts';

export interface LogLimits {
  fileMb: number;
  files: number;
}

/**
 * What programs of images commonly need: to change owner, user and group when they start, to listen on
 * ports below 1024, to signal processes of another user. Docker would also give raw sockets, device
 * nodes and audit.
 */
export const capabilities: readonly string[] = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];

/** `address`: its own address in its network; null: its port is published on loopback. */
export function createOptions(
  spec: WorkloadSpec,
  container: ContainerSpec,
  names: Names,
  log: LogLimits,
  address: string | null = null,
): Dockerode.ContainerCreateOptions {
  const innerPort = container.port ?? spec.port;
  const exposed = spec.port === null || innerPort === null ? undefined : `${innerPort}/tcp`;
  const { settings } = container;
  const network = names.network(container.network);
  return {
    name: names.container(spec.id),
    Image: container.image,
    ...programOf(spec, container),
    ...(spec.workingDir !== '' && { WorkingDir: spec.workingDir }),
    ...programSettings(spec, container),
    ...(settings?.health && { Healthcheck: healthCheck(settings.health) }),
    Tty: settings?.tty ?? false,
    // Ours come last, so that no label of an app makes it another's.
    Labels: { ...settings?.labels, ...names.labelsOf(spec, address) },
    ...(exposed !== undefined && { ExposedPorts: { [exposed]: {} } }),
    StopTimeout: graceSeconds(spec.stopGraceMs),
    HostConfig: {
      ...hostConfig(spec, container, names, log),
      NetworkMode: network,
      ...(exposed !== undefined &&
        address === null && {
          PortBindings: { [exposed]: [{ HostIp: '127.0.0.1', HostPort: String(spec.port) }] },
        }),
    },
    NetworkingConfig: {
      EndpointsConfig: {
        [network]: {
          ...(container.network !== null && { Aliases: [...container.aliases] }),
          ...(address !== null && { IPAMConfig: { IPv4Address: address } }),
        },
      },
    },
  };
}

export function programOf(
  spec: WorkloadSpec,
  { settings }: ContainerSpec,
): Pick<Dockerode.ContainerCreateOptions, 'Entrypoint' | 'Cmd'> {
  if (settings) {
    return {
      ...(settings.entrypoint && { Entrypoint: [...settings.entrypoint] }),
      ...(spec.command.length > 0 && { Cmd: [...spec.command] }),
    };
  }
  const [program, ...args] = spec.command;
  return program === undefined ? {} : { Entrypoint: [program], Cmd: args };
}

function hostConfig(
  spec: WorkloadSpec,
  container: ContainerSpec,
  names: Names,
  log: LogLimits,
): Dockerode.HostConfig {
  const { settings } = container;
  return {
    ...limits(spec),
    // The init process reaps orphans and passes signals on. Few programs do that as the first process.
    Init: settings?.init ?? true,
    RestartPolicy: { Name: spec.kind === 'service' ? 'unless-stopped' : 'no' },
    SecurityOpt: ['no-new-privileges'],
    CapDrop: ['ALL'],
    CapAdd: [...capabilities],
    ReadonlyRootfs: settings?.readOnly ?? false,
    LogConfig: { Type: logDriver, Config: logOptions(log) },
    Mounts: volumeMounts(container, names),
    ...(settings && { Tmpfs: Object.fromEntries(settings.tmpfs.map((path) => [path, ''])) }),
  };
}

/**
 * Not json-file, which replaces bytes that are no UTF-8, even those of a character that is cut at 16
 * KiB.
 */
export const logDriver = 'local';

export function logOptions({ fileMb, files }: LogLimits): Record<string, string> {
  return { 'max-size': `${fileMb}m`, 'max-file': String(files), compress: 'false' };
}

/** What a container and the task of a service are told by the same names. */
export function programSettings(spec: WorkloadSpec, { settings }: ContainerSpec) {
  const { uid, env } = spec;
  // Without one it is the user of the image.
  const user = settings?.user ?? (uid === null ? null : `${uid}:${uid}`);
  return {
    ...(user !== null && { User: user }),
    ...(settings?.hostname != null && { Hostname: settings.hostname }),
    ...(settings?.stopSignal != null && { StopSignal: settings.stopSignal }),
    // People at its terminal may type.
    OpenStdin: settings?.tty ?? false,
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
  };
}

export function volumeMounts(
  { settings, volumes }: ContainerSpec,
  names: Names,
): Dockerode.MountSettings[] {
  const named = volumes.map(({ name, path, readOnly = false }) => ({
    Type: 'volume' as const,
    Source: names.volume(name),
    Target: path,
    ReadOnly: readOnly,
  }));
  const unnamed = (settings?.unnamedVolumes ?? []).map((path) => ({
    Type: 'volume' as const,
    Source: '',
    Target: path,
  }));
  return [...named, ...unnamed];
}

const nsPerMs = 1_000_000;

/** What is left out, or zero, is taken from the image. */
export function healthCheck(health: ContainerHealthCheck): Dockerode.HealthConfig {
  const { test, intervalMs, timeoutMs, startPeriodMs, retries } = health;
  return {
    ...(test && { Test: test.length > 0 ? [...test] : ['NONE'] }),
    ...(intervalMs !== null && { Interval: intervalMs * nsPerMs }),
    ...(timeoutMs !== null && { Timeout: timeoutMs * nsPerMs }),
    ...(startPeriodMs !== null && { StartPeriod: startPeriodMs * nsPerMs }),
    ...(retries !== null && { Retries: retries }),
  };
}

/** The daemon counts whole seconds. Zero would kill at once. */
export function graceSeconds(graceMs: number): number {
  return Math.max(1, Math.ceil(graceMs / 1000));
}

function limits(spec: WorkloadSpec): Dockerode.HostConfig {
  const { memoryMb, cpus, pids } = spec.resources;
  const bytes = memoryMb === null ? undefined : memoryMb * 1024 * 1024;
  return {
    // The same for both means no swap.
    ...(bytes !== undefined && { Memory: bytes, MemorySwap: bytes }),
    // The daemon refuses more CPUs than there are.
    ...(cpus !== null && { NanoCpus: Math.round(Math.min(cpus, availableParallelism()) * 1e9) }),
    ...(pids !== null && { PidsLimit: pids }),
  };
}

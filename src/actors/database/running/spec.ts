/** Owns what the driver is asked to run of a database: its server, and the job that makes its files. */
import type { WorkloadSpec } from '../../../protocol/workload.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { aliasOf } from '../settings/address.ts';
import type { DatabaseCore } from '../core.ts';
import type { Command, HostServer } from '../engines/engine.ts';

/** What runs a database: a server of this machine, or an image. */
export type Runtime =
  { kind: 'host'; server: HostServer } | { kind: 'image'; image: string; version: string };

export function volumeOf(databaseId: string): string {
  return `${databaseId}-data`;
}

export async function serverSpec(
  core: DatabaseCore,
  runtime: Runtime,
  workloadId: string,
  port: number,
): Promise<WorkloadSpec> {
  const record = core.require();
  const { databaseName, username } = record;
  const names = { databaseName, username };
  const common = {
    id: workloadId,
    owner: core.id,
    kind: 'service',
    port,
    resources: record.resources,
    deadlineMs: null,
    stopGraceMs: core.deps.options.stopGraceMs,
  } as const;
  if (runtime.kind === 'host') {
    const { place } = core;
    const run = await runtime.server.serve(place, port, names, core.passwords);
    return { ...common, ...run, workingDir: place.data, uid: core.uid, container: null };
  }
  const { image } = core.engine;
  return {
    ...common,
    ...image.run(names, core.passwords),
    workingDir: '',
    uid: null,
    container: {
      image: runtime.image,
      port: image.port,
      volumes: [{ name: volumeOf(core.id), path: image.volume }],
      network: record.teamId,
      aliases: [aliasOf(core.id)],
    },
  };
}

export function initSpec(
  core: DatabaseCore,
  { command, env }: Command,
  workloadId: string,
  uid: number | null,
): WorkloadSpec {
  const { place, deps } = core;
  return {
    id: workloadId,
    owner: core.id,
    kind: 'job',
    command,
    workingDir: place.data,
    env,
    uid,
    port: null,
    container: null,
    resources: core.require().resources,
    deadlineMs: deps.options.initTimeoutMs,
    stopGraceMs: 1000,
  };
}

/** The image as it is asked for. */
export function imageReference(core: DatabaseCore): string {
  const { engine, version } = core.require();
  const own = core.deps.options.images[engine];
  if (own !== undefined) return own.replaceAll('{version}', version);
  return core.deps.engines[engine].image.reference(version);
}

export function requireHost(core: DatabaseCore): NonNullable<DatabaseCore['engine']['host']> {
  const { host, label } = core.engine;
  if (host !== null) return host;
  throw new ServiceError(
    'ENGINE_NOT_AVAILABLE',
    `${label} runs in a container alone: this server has no Docker.`,
  );
}

/** Owns what the driver is asked to run for a database: its server, and the job that makes its files. */
import type { WorkloadSpec } from '../../../protocol/workload.ts';
import type { FilesOwner, OwnPaths } from '../../../places/place.ts';
import { dataName, volumeOf } from '../../workload/volumes.ts';
import { aliasOf } from '../settings/address.ts';
import type { DatabaseCore } from '../core.ts';
import type { Command, HostServer } from '../engines/engine.ts';

export type Runtime =
  { kind: 'host'; server: HostServer } | { kind: 'image'; image: string; version: string };

export async function serverSpec(
  core: DatabaseCore,
  runtime: Runtime,
  id: string,
  port: number,
): Promise<WorkloadSpec> {
  const { databaseName, username, teamId } = core.require();
  const names = { databaseName, username };
  if (runtime.kind === 'host') {
    const { passwords, uid } = core;
    const place = await core.files();
    const run = await runtime.server.serve(place, port, names, passwords);
    const own = { id, kind: 'service', port, keepsPort: true } as const;
    return core.spec({ ...run, ...own, workingDir: place.data, files: place.files, uid });
  }
  const { image } = core.engine;
  const container = {
    image: runtime.image,
    port: image.port,
    volumes: [{ name: volumeOf(core.require(), dataName), path: image.volume }],
    network: teamId,
    aliases: [aliasOf(core.id)],
  };
  const run = image.run(names, core.passwords);
  return core.spec({ ...run, id, kind: 'service', port, container });
}

export function initSpec(
  core: DatabaseCore,
  { data: workingDir, files }: OwnPaths,
  { command, env }: Command,
  { id, uid }: FilesOwner,
): WorkloadSpec {
  const { initTimeoutMs: deadlineMs } = core.deps.options;
  const limits = { deadlineMs, stopGraceMs: 1000 };
  return core.spec({ id, kind: 'job', command, env, uid, workingDir, files, ...limits });
}

export function imageReference(core: DatabaseCore): string {
  const { engine, version } = core.require();
  const own = core.deps.options.images[engine];
  if (own !== undefined) return own.replaceAll('{version}', version);
  return core.deps.engines[engine].image.reference(version);
}

/** Owns what the driver is asked to run for a release: programs in a folder, or an image. */
import type { ContainerSpec, WorkloadSpec } from '../../../protocol/workload.ts';
import type { Instance, ReleaseImage, ReleasePlan } from '../../../store/records/records.ts';
// prettier-ignore
import { containerDataDir, containerEnvironment, serviceCommand, serviceEnvironment, shellCommand } from '../build/environment.ts';
import { dataName, volumeOf } from '../../workload/volumes.ts';
import type { AppCore } from '../core.ts';
import { openVariables } from '../settings/variables.ts';

export interface Release {
  /** The name of the release's folder. */
  release: string;
  plan: ReleasePlan;
}

/** The port that the app itself sees, as its variable PORT. */
export function innerPort({ image }: ReleasePlan, port: number): number {
  return image?.port ?? port;
}

/** Rejects with AGENT_UNREACHABLE. */
export async function specOf(
  core: AppCore,
  instance: Instance,
  { release, plan }: Release,
): Promise<WorkloadSpec> {
  const variables = openVariables(core.deps, core.require());
  const { workloadId: id, port } = instance;
  const common = { id, kind: 'service', port } as const;
  if (plan.image !== undefined) {
    return core.spec({
      ...common,
      command: plan.startCommand === null ? [] : shellCommand(plan.startCommand),
      env: containerEnvironment(variables, innerPort(plan, port)),
      container: containerOf(core, plan.image),
    });
  }
  const { toolchain } = await core.machine();
  const files = await core.files();
  const folder = files.release(release);
  const parts = { files, toolchain, folder, variables };
  return core.spec({
    ...common,
    command: serviceCommand(plan, toolchain, folder),
    workingDir: folder,
    files: files.files,
    env: serviceEnvironment(parts, port),
    uid: core.uid,
  });
}

/** Apps of a team reach each other by slug. */
function containerOf(core: AppCore, { name, port }: ReleaseImage): ContainerSpec {
  const app = core.require();
  const { slug, teamId } = app;
  return {
    image: name,
    port,
    volumes: [{ name: volumeOf(app, dataName), path: containerDataDir }],
    network: teamId,
    reachedAt: 'address',
    aliases: [slug],
  };
}

/** Owns a compose file's release on its way up: what is read of it anew, and the room it needs. */
import type { Instance, ReleasePlan, ReleaseStack } from '../../../store/records/records.ts';
import { partsOf } from '../compose/parts.ts';
import type { StackPart } from '../compose/parts.ts';
import type { Stack } from '../compose/stack.ts';
import type { AppCore } from '../core.ts';
import { makeRoom } from '../running/instances.ts';
import type { NextInstance } from '../running/instances.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { openVariables } from '../settings/variables.ts';
import { pause } from '../../../lib/clock.ts';

const lookEveryMs = 100;

/** The stack with the variables of now. Rejects with WorkFailed. */
export async function stackOf(core: AppCore, { compose }: ReleaseStack): Promise<Stack> {
  const variables = openVariables(core.deps, core.require(), 'production');
  const { readStack } = await import('../compose/stack.ts');
  return readStack(compose, { variables, port: core.require().build.port });
}

/** How the services are named to the actor before any of them starts. */
export function othersOf(
  { services }: Stack,
  { main, images }: ReleaseStack,
): NextInstance['stack'] {
  const others = services.flatMap(({ name }, at) =>
    name === main ? [] : [{ service: name, at, image: images[name]?.label ?? '' }],
  );
  return { main, others };
}

/** What is started for an instance, in its order. Rejects with WorkFailed. */
export async function stackParts(
  core: AppCore,
  { workloadId, port }: Instance,
  { stack }: ReleasePlan,
): Promise<StackPart[]> {
  if (stack === undefined) throw new Error('Cannot start services without a compose file');
  const read = await stackOf(core, stack);
  const missing = read.services.find(({ name }) => !Object.hasOwn(stack.images, name));
  if (missing !== undefined || read.main !== stack.main) {
    throw new WorkFailed('The variables of the app change what its services are. Deploy again.');
  }
  const { id, slug, teamId, resources } = core.require();
  return partsOf(read, {
    appId: id,
    workloadId,
    port,
    images: Object.fromEntries(
      Object.entries(stack.images).map(([service, { name }]) => [service, name]),
    ),
    network: { team: teamId, aliases: [slug] },
    resources,
    stopGraceMs: core.deps.options.stopGraceMs,
  });
}

/** Ends what runs of the app: its services and the next ones would share their volumes. */
export async function awaitRoom(
  core: AppCore,
  deploymentId: string,
  signal: AbortSignal,
): Promise<void> {
  await core.context.report(() => makeRoom(core, deploymentId));
  while ((core.record?.run.draining.length ?? 0) > 0) {
    await pause(core.deps.clock, lookEveryMs, signal);
  }
}

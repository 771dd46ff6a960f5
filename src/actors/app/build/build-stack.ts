/**
 * Owns making a release of a compose file: the images of its services, pulled or built.
 *
 * 1. Every deployment reads the file again, with the current variables, and checks it again.
 * 2. The release keeps the text and the exact images, so that a rollback starts what ran.
 */
import type { ImageInfo, Images } from '../../../drivers/driver.ts';
import type { ReleasePlan, ReleaseStack } from '../../../store/records/records.ts';
import type { StackService } from '../compose/stack.ts';
import { openVariables } from '../settings/variables.ts';
import { inTime } from './build-image.ts';
import { loginsFor, loginsOf, pinned } from './registry-logins.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { BuildWork } from './work.ts';

type StackImage = ReleaseStack['images'][string];

/** Rejects with WorkFailed and the codes of Images. */
export async function buildStack(work: BuildWork, images: Images): Promise<ReleasePlan> {
  const { core, app, deployment, say } = work;
  const { compose } = app;
  if (compose === null) throw new WorkFailed('There is no compose file to run.');
  const variables = openVariables(core.deps, app);
  const { readStack } = await import('../compose/stack.ts');
  const stack = await readStack(compose, { variables, port: app.build.port });
  say(`Found ${String(stack.services.length)} services; ${stack.main} takes the traffic.`);
  for (const note of stack.notes) say(note);
  const made: Record<string, StackImage> = {};
  const ports = new Map<string, readonly number[]>();
  for (const [at, service] of stack.services.entries()) {
    const { info, pulled, label } = await imageOf(
      work,
      images,
      service,
      `${deployment.id}-${String(at)}`,
    );
    made[service.name] = { name: info.image, label, pulled };
    ports.set(service.name, info.ports);
  }
  const main = stack.services.find(({ name }) => name === stack.main);
  const image = made[stack.main];
  if (main === undefined || image === undefined)
    throw new Error('Cannot start a stack without its main service');
  const port = app.build.port ?? main.port ?? ports.get(stack.main)?.[0] ?? null;
  return {
    kind: 'compose',
    startCommand: null,
    staticDir: null,
    image: { ...image, port },
    stack: { compose, main: stack.main, images: made },
  };
}

async function imageOf(
  work: BuildWork,
  images: Images,
  service: StackService,
  name: string,
): Promise<{ info: ImageInfo; pulled: string | null; label: string }> {
  const { core, app, say } = work;
  const { source } = service;
  if ('dockerfile' in source) {
    say(`Building ${service.name}.`);
    const spec = {
      owner: app.id,
      name,
      // A compose file comes without files, so the build context of a Dockerfile is empty.
      contextDir: await (await core.files()).emptyRelease(work.deployment.id),
      dockerfile: { text: source.dockerfile },
      buildArgs: source.args,
      ...(source.target !== null && { target: source.target }),
      logins: loginsOf(core.deps, app.teamId),
    };
    const info = await inTime(work, (signal) => images.build(spec, say, signal));
    return { info, pulled: null, label: info.image };
  }
  const { reference } = source;
  say(`Pulling ${reference} for ${service.name}.`);
  const logins = loginsFor(core.deps, app.teamId, reference);
  const spec = { owner: app.id, name, reference, logins };
  const info = await inTime(work, (signal) => images.pull(spec, say, signal));
  return { info, pulled: pinned(reference, info.digest ?? null), label: reference };
}

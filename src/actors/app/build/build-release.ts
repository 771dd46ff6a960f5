/**
 * Owns making a release by programs of the machine: unpack the source, detect its kind,
 * run its build as a job of the driver, find what to start. Releases that run in images are made in
 * build-image.ts. The job and the plan are journaled before the job starts. A job that is found again
 * does not run again: its output continues in the log and its exit code counts.
 */
import type { Exit, WorkloadSpec } from '../../../protocol/workload.ts';
import type { AppFiles, Machine } from '../../../places/place.ts';
import type { ReleasePlan } from '../../../store/records/records.ts';
import { reach } from '../../workload/reach.ts';
import { openVariables } from '../settings/variables.ts';
import { emptyResources } from '../settings/validate.ts';
import { detectBuild, settlePlan } from './detect.ts';
import { buildEnvironment, failedStepFile, jobCommand } from './environment.ts';
import { buildImage } from './build-image.ts';
import { buildStack } from './build-stack.ts';
import { unpack } from './unpack.ts';
import type { BuildTools } from './plan.ts';
import { type BuildWork, tookTooLong } from './work.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { pause } from '../../../lib/clock.ts';

const retryMs = 1000;
/** Limits a command that is quoted in a message. */
const stepMaxChars = 200;

/** Returns how the finished release starts. Rejects with WorkFailed and ARCHIVE_* codes. */
export async function buildRelease(work: BuildWork): Promise<ReleasePlan> {
  const { core, app, deployment, signal } = work;
  const { driver, clock } = core.deps;
  if (driver.images !== null) {
    return app.source === 'COMPOSE'
      ? buildStack(work, driver.images)
      : buildImage(work, driver.images);
  }
  const { buildJob } = deployment;
  const found =
    buildJob === null ? undefined : await reach(clock, signal, () => driver.inspect(buildJob));
  let { plan } = deployment;
  if (found !== undefined && buildJob !== null) await finishJob(work, buildJob);
  else plan = await buildAnew(work);
  if (plan === null) throw new Error('Cannot settle a build without a plan');
  const made = plan;
  return reach(clock, signal, async () =>
    settlePlan((await core.files()).source(deployment.id), made, app.build),
  );
}

async function buildAnew(work: BuildWork): Promise<ReleasePlan> {
  const { core, app, deployment, signal, say } = work;
  const { driver, clock } = core.deps;
  const machine = await reach(clock, signal, () => core.machine());
  const files = await reach(clock, signal, () => core.files());
  await unpack(work, files, false);
  const plan = await reach(clock, signal, () =>
    detectBuild(files.source(deployment.id), app.build, toolsOf(machine)),
  );
  say(`Found ${plan.found}.`);
  for (const note of plan.notes) say(note);
  // A second job of the same deployment has another name, so that it has its own log and exit code.
  const buildJob =
    plan.steps.length === 0 ? null : `${deployment.id}-build-${String(core.context.epoch)}`;
  await work.planned(plan.release, buildJob);
  signal.throwIfAborted();
  if (buildJob !== null) {
    const spec = jobSpec(work, buildJob, { machine, files }, plan.steps);
    await reach(clock, signal, () => driver.start(spec));
    await finishJob(work, buildJob);
  }
  return plan.release;
}

function toolsOf({ tools, toolchain }: Machine): BuildTools {
  return {
    nodeVersion: toolchain.nodeVersion,
    has: async (program) => (await tools.find([program])) !== null,
  };
}

function jobSpec(
  { core, deployment }: BuildWork,
  id: string,
  { machine, files }: { machine: Machine; files: AppFiles },
  steps: readonly string[],
): WorkloadSpec {
  const { deps, uid } = core;
  const { buildTimeoutMs } = deps.options;
  const { toolchain, buildEnv } = machine;
  const folder = files.release(deployment.id);
  const variables = openVariables(deps, core.require());
  return core.spec({
    id,
    kind: 'job',
    uid,
    workingDir: folder,
    files: files.files,
    command: jobCommand(steps),
    env: buildEnvironment({ files, toolchain, folder, variables }, buildEnv),
    // The limits of an app are for running it. A build needs more for a short time.
    resources: emptyResources,
    deadlineMs: buildTimeoutMs,
  });
}

/** Waits for the end of a job, with all of its output in the log. Rejects when the job failed. */
async function finishJob(work: BuildWork, buildJob: string): Promise<void> {
  const { core, deployment, signal } = work;
  const { streams, driver, clock, options, logger } = core.deps;
  for (;;) {
    try {
      await streams.feed(`build:${deployment.id}`, driver, buildJob, signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ workload: buildJob, err: error }, 'build_log_interrupted');
    }
    signal.throwIfAborted();
    const job = await reach(clock, signal, () => driver.inspect(buildJob));
    if (job === undefined) throw new WorkFailed('The build was lost. Deploy again.');
    if (job.state.phase === 'ended') {
      const { exit } = job.state;
      if (exit.reason === 'exited' && exit.code === 0) return;
      const step = exit.reason === 'exited' ? await failedStep(work) : null;
      throw new WorkFailed(describeBuildExit(exit, step, options.buildTimeoutMs));
    }
    await pause(clock, retryMs, signal);
  }
}

/** The first line of the command that failed; null when the job could not record it. */
async function failedStep({ core, deployment, signal }: BuildWork): Promise<string | null> {
  const text = await reach(core.deps.clock, signal, async () =>
    (await core.files()).source(deployment.id).text(failedStepFile),
  );
  const line = text?.trim().split('\n')[0] ?? '';
  if (line === '') return null;
  return line.length <= stepMaxChars ? line : `${line.slice(0, stepMaxChars)} …`;
}

function describeBuildExit(exit: Exit, step: string | null, timeoutMs: number): string {
  switch (exit.reason) {
    case 'deadline':
      return tookTooLong(timeoutMs);
    case 'lost':
      return 'The build was lost when its server stopped. Deploy again.';
    case 'stopped':
      return 'The build was stopped.';
    case 'failed_to_start':
      return exit.detail ?? 'The build could not be started.';
    case 'exited':
      if (exit.signal !== null) return `The build was ended by ${exit.signal}.`;
      return step === null
        ? `The build failed with exit code ${String(exit.code ?? 'unknown')}.`
        : `The build failed: ${step} ended with exit code ${String(exit.code ?? 'unknown')}.`;
  }
}

/**
 * Owns another server of a database for a while, beside the live one: of the same image, with a volume of its
 * own, in no network. What is restored is read into it, so that the live one has no part in that.
 *
 * 1. It does not stand in the record: what a crash leaves of it is unknown, and removed as such.
 */
import type { BesideWork } from '../../../backups/targets.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { DatabaseCore } from '../core.ts';
import { serverSpec } from './spec.ts';
import { awaitAnswer, serverOf } from './wellness.ts';

/** Rejects with WorkFailed when the server does not come, and with what `work` rejects with. */
export async function besideServer(
  core: DatabaseCore,
  volume: string,
  work: BesideWork,
  signal: AbortSignal,
): Promise<void> {
  const { driver } = core.deps;
  const workloadId = await core.context.report(() => nameBeside(core), signal);
  try {
    await driver.start(await specOf(core, workloadId, volume));
    const answer = await awaitAnswer(core, workloadId, signal, true);
    if (answer.kind !== 'well') {
      const reason = answer.kind === 'failed' ? ` ${answer.reason}` : '';
      throw new WorkFailed(`The server beside the live one does not answer.${reason}`);
    }
    await core.engine.setUp(await serverOf(core, workloadId), signal);
    await work((spec, input, over) => driver.pipe(workloadId, spec, input, over));
    await driver.stop(workloadId);
  } finally {
    await driver.remove(workloadId);
    await core.context.report(() => core.leaveBeside());
  }
}

function nameBeside(core: DatabaseCore): string {
  const { run } = core.require();
  const seq = run.seq + 1;
  const workloadId = `${core.id}-${String(seq)}`;
  core.enterBeside(workloadId);
  core.save({ run: { ...run, seq } });
  return workloadId;
}

async function specOf(core: DatabaseCore, workloadId: string, volume: string) {
  const { version, run } = core.require();
  const { image } = run;
  if (image === null) throw new WorkFailed('Its image is not known: start it first.');
  const port = await core.deps.driver.freePort();
  const spec = await serverSpec(core, { kind: 'image', image, version }, workloadId, port);
  if (spec.container === null) throw new Error('Cannot start a server beside: it has no image');
  const volumes = [{ name: volume, path: core.engine.image.volume }];
  return { ...spec, container: { ...spec.container, volumes, network: null, aliases: [] } };
}

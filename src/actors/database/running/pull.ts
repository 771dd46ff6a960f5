/**
 * Owns getting the image of a database: with the logins of its team, and told in the database's log.
 *
 * 1. Whatever keeps it from being had stands in the log, too, behind what the pull said.
 * 2. A pull that is given up says nothing any more: its database may be stopped or gone.
 */
import { BuildOutput } from '../../app/build/build-output.ts';
import { loginsFor } from '../../app/build/registry-logins.ts';
import { reach } from '../../workload/reach.ts';
import type { DatabaseCore } from '../core.ts';
import { imageReference } from './spec.ts';
import { sentenceOf, WorkFailed } from '../../workload/work-failed.ts';

/** The image as the driver names it. Rejects with WorkFailed and what `Images` rejects with. */
export async function pullImage(core: DatabaseCore, signal: AbortSignal): Promise<string> {
  const { driver, reader, secrets, streams, clock, options } = core.deps;
  const { images } = driver;
  if (images === null) throw new Error('a driver of images without images');
  const reference = imageReference(core);
  const logins = loginsFor(reader, secrets, core.require().teamId, reference);
  const spec = { owner: core.id, name: `${core.id}-image`, reference, logins };
  const output = new BuildOutput((text) => {
    if (!signal.aborted) streams.write(`db:${core.id}`, text);
  }, clock);
  const { line } = output;
  const deadline = AbortSignal.timeout(options.pullTimeoutMs);
  const either = AbortSignal.any([signal, deadline]);
  line(`Pulling ${reference}.`);
  try {
    const pulled = await reach(clock, either, () => images.pull(spec, line, either));
    return pulled.image;
  } catch (error) {
    const minutes = String(Math.round(options.pullTimeoutMs / 60_000));
    const failure = deadline.aborted
      ? new WorkFailed(`Pulling ${reference} took longer than ${minutes} minutes.`)
      : error;
    line(sentenceOf(failure));
    throw failure;
  } finally {
    output.flush();
  }
}

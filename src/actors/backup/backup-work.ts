/**
 * Owns what one run does, from its turn to the proof of its artifact, and the removal of what it leaves.
 *
 * 1. The record says that something may lie at the destination before anything does.
 * 2. What a run leaves is removed only once nothing of it writes any more. What was begun beside it and not finished
 *    is removed, too, where the destination can do that.
 */
import type { Destination } from '../../backups/destinations/destination.ts';
import { probeKey } from '../../backups/destinations/probe.ts';
import type { Artifact } from '../../backups/runs/artifact.ts';
import { untilAborted } from '../../backups/streams/until-aborted.ts';
import { hasPassed } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { BackupRunRecord } from '../../store/records/records.ts';
import type { Backups, TargetRecord } from './backups.ts';

const nameMax = 40;
/** What comes back only where it was made: that is known by its hash. */
const ownDumps: ReadonlySet<string> = new Set(['base.tar']);

/**
 * Makes the artifact of a run, and proves it. Rejects when there is none; `leaves` is told until when something
 * of it may still be written.
 */
export async function makeArtifact(
  backups: Backups,
  runId: string,
  signal: AbortSignal,
  leaves: (ending: Promise<unknown>) => void,
): Promise<Artifact> {
  const { deps, target } = backups;
  const run = backups.run(runId);
  const { encrypts: encrypted, write, verify } = deps.openDestination(run.destinationId);
  const past = backups.pastRestores();
  const source = await untilAborted(deps.sourceOf(target, { encrypted }), signal);
  const key = keyOf(backups.require(), run, `${source.ending}.gz${encrypted ? '.age' : ''}`);
  const save = (patch: Partial<BackupRunRecord>): Promise<unknown> =>
    backups.context.report(() => backups.saveRun(backups.run(runId), patch), signal);
  const begun = { key, source: source.kind, encrypted, progressBytes: 0 };
  const transport = { key, signal, progress: progressOf(backups, save) };
  deps.writing.add(key);
  try {
    await save({ ...begun, artifact: 'writing' });
    const hashesDump = ownDumps.has(source.ending);
    const written = await write(source.read(signal), { ...transport, hashesDump, leaves });
    backups.mustBeUndisturbed(past);
    const { dumpSha256, ...artifact } = written;
    const own = dumpSha256 !== null && { dumpSha256 };
    await save({ ...artifact, ...own, status: 'verifying', progressBytes: 0 });
    await verify(artifact, transport);
    return artifact;
  } finally {
    deps.writing.delete(key);
  }
}

/** Removes what a run has at its destination, once `ending` is over. False when that did not work now. */
export async function removeArtifact(
  { deps, context }: Backups,
  { id, key, destinationId }: Pick<BackupRunRecord, 'id' | 'key' | 'destinationId'>,
  ending: Promise<unknown> = Promise.resolve(),
): Promise<boolean> {
  // With its destination, everything in it was given up.
  if (key === null || deps.teamOfDestination(destinationId) === null) return true;
  const late = new AbortController();
  const cancel = deps.clock.after(deps.options.cleanUpMs, () =>
    late.abort(new ServiceError('DESTINATION_FAILED', 'The destination does not answer.')),
  );
  const signal = AbortSignal.any([late.signal, context.signal]);
  const remove = async (): Promise<Destination> => {
    await ending.catch(() => undefined);
    const { destination } = deps.openDestination(destinationId);
    await destination.remove(key, signal);
    return destination;
  };
  try {
    const destination = await untilAborted(remove(), signal);
    const sweeping = destination.sweep((other) => isBeingWritten(deps.writing, other), signal);
    await untilAborted(sweeping, signal).catch((err: unknown) => {
      deps.logger.warn({ run: id, err }, 'destination_not_swept');
    });
    return true;
  } catch (error) {
    deps.logger.warn({ run: id, err: error }, 'backup_not_removed');
    return false;
  } finally {
    cancel();
  }
}

/** Whether what is begun under this key is no leftover: of a run, or of a test of the destination. */
export function isBeingWritten(writing: ReadonlySet<string>, key: string): boolean {
  return key === probeKey || writing.has(key);
}

/** Such as `shop-20261123T030000Z-run_….tar.gz`. */
function keyOf(
  target: TargetRecord,
  { id, startedAtMs }: Readonly<BackupRunRecord>,
  ending: string,
): string {
  const name = 'slug' in target ? target.slug : target.name;
  const shown = name.replace(/[^A-Za-z0-9]+/g, '-').slice(0, nameMax);
  const tidy = shown.replace(/^-+|-+$/g, '') || target.id;
  const time = new Date(startedAtMs).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${tidy}-${time}-${id}.${ending}`;
}

/** Stores how far a run is, once in a while. */
function progressOf(
  { deps }: Backups,
  save: (patch: Partial<BackupRunRecord>) => Promise<unknown>,
): (bytes: number) => void {
  const { clock, options } = deps;
  let savedAtMs = clock.now();
  let isSaving = false;
  const saved = (): void => {
    isSaving = false;
  };
  return (progressBytes) => {
    if (isSaving || !hasPassed(clock, savedAtMs, options.progressEveryMs)) return;
    savedAtMs = clock.now();
    isSaving = true;
    // Whoever made the run hears of a failure by its next change.
    save({ progressBytes }).then(saved, saved);
  };
}

/**
 * Owns what a restore does, step by step: the artifact is on disk and checked whole before the target is held,
 * and only then does its restorer get it.
 */
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AppJson } from '../../backups/app-json.ts';
import type { CheckedArtifact } from '../../backups/restores/artifact-check.ts';
import { sourceOf } from '../../backups/restores/artifact-kind.ts';
import type { CameUpload } from '../../backups/restores/app-entries.ts';
import { Unsettled } from '../../backups/restores/failures.ts';
import type { HostControl } from '../../backups/restores/restorer-of.ts';
import type { DatabaseTarget } from '../../backups/targets.ts';
import type { ArtifactFile } from '../../backups/threads/messages.ts';
import type { VolumeFolders } from '../../drivers/driver.ts';
import { hasPassed, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { DatabaseEngine, RestoreRunRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { asFailure, fromFailure } from '../../workers/task-failure.ts';
import type { RestoreCore } from './core.ts';
import { idlePollMs, progressEveryMs, recoverEveryMs, recoverForMs } from './deps.ts';
import type { RestoreRights } from './protocol.ts';

/** What apps and databases do differently. */
export interface RestoreHost {
  /** Null: an app. */
  engine: () => DatabaseEngine | null;
  /** Whether nothing builds or starts it. Asked while it is held. */
  isIdle: () => boolean;
  /** Begins to end everything that runs of it. */
  stop: () => void;
  /** Whether nothing runs of it. */
  isStopped: () => boolean;
  /** Resolves when it serves; at once where it is not to run. */
  start: (signal: AbortSignal) => Promise<void>;
  /** The restore has let go of it: what waited begins. */
  released: () => void;
  /** As `HostControl.useVolumes`. */
  useVolumes: (volumes: VolumeFolders, before: VolumeFolders | null) => void;
  /** As `DatabaseTarget.beside`; absent: it has none. */
  beside?: NonNullable<DatabaseTarget['beside']>;
  /**
   * Keeps the upload of an artifact, as far as the rights go; resolves with what makes it the app's. Absent: it
   * has none.
   */
  keepUpload?: (
    upload: CameUpload,
    rights: RestoreRights,
    say: (line: string) => void,
  ) => Promise<KeptUpload | null>;
  /** Applies the settings of an artifact, as far as the rights go; absent: it has none. */
  applySettings?: (
    json: AppJson,
    rights: RestoreRights,
    say: (line: string) => void,
  ) => Promise<void>;
}

/** An upload that has arrived with an artifact. */
export interface KeptUpload {
  /** Lets the app point at it. */
  apply: () => Promise<void>;
}

export interface RestoreParts {
  core: RestoreCore;
  host: RestoreHost;
  /** As it is now. */
  run: () => Readonly<RestoreRunRecord>;
  /** Where the artifact lies. */
  file: string;
  say: (line: string) => void;
  enter: (phase: RestoreRunRecord['phase'], signal: AbortSignal) => Promise<void>;
}

export interface RestoreGiven extends RestoreParts {
  recoveryKey: string | null;
  rights: RestoreRights;
}

/** Whose data is in place, as a sentence. */
const nothingTouched = 'Nothing was changed.';
const previousInPlace = 'The previous data is in place.';
const restoredInPlace = 'The restored data is in place.';
const nobodyKnows =
  'It is not known whether the previous data, the restored data or a part of it is in place: restore again.';

/** What ends a restore. */
export interface Endings {
  /** The end of the activation: the next one takes over whatever was begun. */
  activation: AbortSignal;
  /** It takes too long. What is exchanged by then goes on to its end. */
  late: AbortSignal;
}

/** Rejects with why the data was not restored; the log says whose data is in place. */
export async function replaceData(
  given: RestoreGiven,
  { activation, late }: Endings,
): Promise<void> {
  const signal = AbortSignal.any([activation, late]);
  const { core, host, say, enter, rights } = given;
  const { id: restoreId, kind, targetId, backupRunId } = given.run();
  const { check, read, restorerOf, room } = core.deps.restores;
  let artifact: ArtifactFile;
  let checked: CheckedArtifact;
  try {
    const isSent = backupRunId === null;
    const recoveryKey = isSent ? given.recoveryKey : await fetchArtifact(given, signal);
    artifact = { path: given.file, recoveryKey };
    await enter('checking', signal);
    say('Checking the artifact.');
    const seen = progressLines(given, 'Checked', (await stat(given.file)).size);
    const wanted = { source: sourceOf(host.engine()), bytesMax: room() };
    checked = await check(artifact, wanted, seen, signal);
    say(`The artifact is whole: ${mebibytes(checked.bytes)} unpacked.`);
  } catch (error) {
    // First: where the disk is full, nothing can be told before there is room.
    await rm(given.file, { force: true }).catch(() => undefined);
    say(nothingTouched);
    throw told(late.aborted ? late.reason : error);
  }
  let isTouched = false;
  let kept: KeptUpload | null = null;
  try {
    await hold(given, signal);
    const control = controlOf(given, activation);
    const restorer = await restorerOf({
      ...{ kind, targetId, restoreId, control, artifact: checked.kind, bytes: checked.bytes },
      isOwn: isOwn(given, checked),
      keepUpload: async (upload) => {
        kept = (await host.keepUpload?.(upload, rights, say)) ?? null;
      },
    });
    await enter('replacing', signal);
    isTouched = true;
    say('Restoring the data.');
    const seen = progressLines(given, 'Restored', checked.bytes);
    const restoring = restorer.restore(counted(read(artifact, signal), seen), say, signal);
    await settled(given, restoring, activation);
  } catch (error) {
    if (!isTouched) say(nothingTouched);
    throw error;
  }
  say(restoredInPlace);
  await applyUpload(kept, say);
  const { appJson } = checked;
  if (appJson !== null) await host.applySettings?.(appJson, rights, say);
}

/** The data stays restored, also where the upload cannot be the app's. */
async function applyUpload(kept: KeptUpload | null, say: (line: string) => void): Promise<void> {
  if (kept === null) return;
  try {
    await kept.apply();
    say('The upload is that of the artifact: the next deployment builds it.');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    say(`The upload stays as it is: ${error.message}`);
  }
}

/** Somebody else may have put anything into an artifact; a dump of ours is known by its hash. */
function isOwn({ core, run }: RestoreParts, { sha256 }: CheckedArtifact): boolean {
  if (sha256 === null) return false;
  const all = core.deps.reader.list(tables.backupRuns, 'target', [run().targetId], {
    limit: Infinity,
  });
  return all.some(({ dumpSha256 }) => dumpSha256 === sha256);
}

/** What a full disk says is told. */
function told(error: unknown): unknown {
  const failure = asFailure(error);
  return failure.kind === 'refused' ? fromFailure(failure) : error;
}

/** Rejects with why the data was not restored, and tells in the log whose data is in place. */
async function settled(
  parts: RestoreParts,
  restoring: Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await restoring;
  } catch (error) {
    // What a restorer expects tells itself which state that left.
    if (error instanceof ServiceError) throw error;
    const data = error instanceof Unsettled ? await recoverData(parts, signal) : nobodyKnows;
    if (data === restoredInPlace) return;
    parts.say(data);
    throw error instanceof Unsettled ? error.cause : error;
  }
}

/** Whether a restore that died in it may have changed its target. */
export function isTouching({ phase }: Pick<RestoreRunRecord, 'phase'>): boolean {
  return phase === 'replacing' || phase === 'replaced';
}

/** Brings the target of a restore that died into a state that can be told; the sentence that tells it. */
export async function recoverData(parts: RestoreParts, signal: AbortSignal): Promise<string> {
  const { core } = parts;
  const { clock } = core.deps;
  const untilMs = clock.now() + recoverForMs;
  for (;;) {
    const run = parts.run();
    if (!isTouching(run)) return nothingTouched;
    try {
      const { kind, targetId, phase } = run;
      const of = { kind, targetId, control: controlOf(parts, signal) };
      const isReplaced = phase === 'replaced';
      const data = await core.deps.restores.recover({ ...of, isReplaced }, signal);
      if (data === null) return nobodyKnows;
      return data === 'previous' ? previousInPlace : restoredInPlace;
    } catch (error) {
      signal.throwIfAborted();
      core.deps.logger.error({ restore: run.id, err: error }, 'restore_not_recovered');
      if (clock.now() >= untilMs) return nobodyKnows;
    }
    await pause(clock, recoverEveryMs, signal);
  }
}

/** Copies a backup onto this disk, and compares it with what was written. Resolves with what opens it. */
async function fetchArtifact(parts: RestoreParts, signal: AbortSignal): Promise<string | null> {
  const { core, run, file, say } = parts;
  const { reader, restores } = core.deps;
  const backup = reader.get(tables.backupRuns, run().backupRunId ?? '');
  const { key = null, sizeBytes = null, sha256 = null } = backup ?? {};
  if (backup === undefined || key === null || sizeBytes === null || sha256 === null) {
    throw new ServiceError('ARTIFACT_GONE', 'The backup was deleted.');
  }
  const { fetch, recoveryKey } = restores.openPlace(backup.destinationId);
  if (backup.encrypted && recoveryKey === null) {
    throw new ServiceError('RECOVERY_KEY_REQUIRED', 'The destination has no key for this backup.');
  }
  say(`Fetching the backup: ${mebibytes(sizeBytes)}.`);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const seen = progressLines(parts, 'Fetched', sizeBytes);
  await fetch({ key, sizeBytes, sha256 }, file, seen, signal);
  return backup.encrypted ? recoveryKey : null;
}

/** Resolves when the target is the restore's alone. */
async function hold({ core, host, say }: RestoreParts, signal: AbortSignal): Promise<void> {
  const { context, deps } = core;
  await context.report(() => {
    core.require();
    core.hold();
  }, signal);
  for (let isTold = false; !(await context.report(() => host.isIdle(), signal)); isTold = true) {
    if (!isTold) say('Waiting for the deployment or the start that is under way.');
    await pause(deps.clock, idlePollMs, signal);
  }
}

function controlOf({ core, host, enter }: RestoreParts, signal: AbortSignal): HostControl {
  const { context, deps } = core;
  return {
    stop: async () => {
      await context.report(() => host.stop(), signal);
      while (!(await context.report(() => host.isStopped(), signal))) {
        await pause(deps.clock, idlePollMs, signal);
      }
    },
    start: () => host.start(signal),
    replaced: () => enter('replaced', signal),
    useVolumes: async (volumes, before) => {
      await context.report(() => host.useVolumes(volumes, before), signal);
      await core.durable;
    },
    beside: (volume, work, over) => {
      if (host.beside === undefined) throw new Error('Cannot start a server beside: there is none');
      return host.beside(volume, work, over);
    },
  };
}

/** The same bytes; `seen` is told of each piece of them. */
export async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  seen: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    seen(chunk.length);
    yield chunk;
  }
}

function progressLines({ core, say }: RestoreParts, word: string, total: number) {
  const { clock } = core.deps;
  let done = 0;
  let toldAtMs = clock.now();
  return (bytes: number): void => {
    done += bytes;
    if (!hasPassed(clock, toldAtMs, progressEveryMs)) return;
    toldAtMs = clock.now();
    const share = total === 0 ? 100 : Math.floor((done / total) * 100);
    say(`${word} ${mebibytes(done)} of ${mebibytes(total)} (${String(share)} %).`);
  };
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

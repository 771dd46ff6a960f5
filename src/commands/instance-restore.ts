/**
 * Owns putting the backup of an instance in the place of an empty data directory.
 *
 * 1. The data directory appears when the artifact was read to its end and all was checked: seals, sums, names, the
 *    store, and that the instance key is its own. Until then nothing is there, whatever went wrong.
 * 2. Whoever restores takes nothing away from the original: a backup that was under way when the copy was made is
 *    forgotten, and what it wrote stays.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { headBytes, packingOf } from '../backups/restores/artifact-head.ts';
import { firstBytes } from '../backups/restores/first-bytes.ts';
import { type Unpacked, unpackInstance } from '../backups/restores/instance-unpacking.ts';
import { proveKey } from '../backups/restores/recovery-key.ts';
import { decrypted } from '../backups/streams/age/decrypted.ts';
import { gunzipped } from '../backups/streams/gunzipped.ts';
import type { Config } from '../config.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { fillWhole, refuseUnlessEmpty } from '../store/files/whole-folder.ts';
import { checkStoreFile } from '../store/files/store-file.ts';
import { put } from '../store/records/table.ts';
import { tables } from '../store/records/tables.ts';
import { StoreRefusal } from '../store/refusal.ts';
import { openSecretBox } from '../store/secrets.ts';
import { openStore } from '../store/store.ts';

export interface InstanceRestore {
  config: Pick<Config, 'dataDir' | 'instanceKey'>;
  /** A file; `-` is standard input. */
  artifact: string;
  /** A file of recovery keys, as `age -i` takes it; `-` is standard input. Null: none was given. */
  identity: string | null;
  seen?: (unpacked: Unpacked) => void;
}

const identityMaxBytes = 64 * 1024;
const silent = (): void => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, fatal: silent };

/** Rejects with a StoreRefusal. */
export async function restoreInstance(restore: InstanceRestore): Promise<Unpacked> {
  const { dataDir } = restore.config;
  await refuseUnlessEmpty(dataDir);
  let unpacked: Unpacked = { files: 0, bytes: 0 };
  try {
    const bytes = await opened(restore);
    await fillWhole(dataDir, async (partial) => {
      unpacked = await unpackInstance(bytes, partial, restore.seen);
      check(partial, restore.config);
      await forgetRuns(partial);
    });
  } catch (error) {
    throw refusalOf(error);
  }
  return unpacked;
}

/** What somebody can mend is told in a sentence. */
function refusalOf(error: unknown): unknown {
  const { message, code, syscall } = error as NodeJS.ErrnoException;
  if (error instanceof ServiceError) {
    return new StoreRefusal(`${message} (${error.code}) Nothing was changed.`, { cause: error });
  }
  const isOfSystem = code !== undefined && syscall !== undefined;
  if (!isOfSystem) return error;
  return new StoreRefusal(`Cannot restore: ${message}. Nothing was changed.`, { cause: error });
}

/** What was under way when the copy was made: its artifact may be the very one that is restored. */
export async function forgetRuns(dir: string): Promise<void> {
  const store = await openStore({ dir, logger });
  try {
    const open = store.list(tables.backupRuns, 'open', [], { limit: Infinity });
    const begun = open.filter(({ status }) => status === 'running' || status === 'verifying');
    if (begun.length === 0) return;
    const error =
      'It was under way when the copy was made that this is restored from. (BACKUP_INTERRUPTED)';
    const finishedAtMs = Date.now();
    const ended = { status: 'failed', artifact: 'none', error, finishedAtMs } as const;
    const actor = 'restore:instance';
    const changes = begun.map((run) => put(tables.backupRuns, { ...run, ...ended }));
    await store.commit({ actor, epoch: store.nextEpoch(actor), changes });
  } finally {
    await store.close();
  }
}

/** What was inside the encryption and the compression. */
async function opened({ artifact, identity }: InstanceRestore): Promise<AsyncIterable<Uint8Array>> {
  if (artifact === '-' && identity === '-') {
    throw new StoreRefusal('Standard input is either the artifact or the identity, not both.');
  }
  const keys = identity === null ? null : await keysIn(identity);
  const input = artifact === '-' ? process.stdin : createReadStream(artifact);
  const { first, whole } = await firstBytes(input as AsyncIterable<Uint8Array>, headBytes);
  switch (packingOf(first)) {
    case 'gzip':
      return gunzipped(whole);
    case 'age':
      return gunzipped(decrypted(whole, keyFor(first, keys)));
    case null:
      throw new StoreRefusal(`${artifact} is no backup: it is neither an age file nor gzip.`);
  }
}

/** The lines of the file that are neither empty nor comments. */
async function keysIn(file: string): Promise<string[]> {
  const found = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  if (found.length > identityMaxBytes) throw new StoreRefusal(`${file} is no file of identities.`);
  const lines = found.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

function keyFor(head: Uint8Array, keys: readonly string[] | null): string {
  if (keys === null) {
    const detail = 'The artifact is encrypted: name the file with its recovery key by --identity.';
    throw new ServiceError('RECOVERY_KEY_REQUIRED', detail);
  }
  let refusal: unknown = new ServiceError('RECOVERY_KEY_WRONG', 'The identity file holds no key.');
  for (const key of keys) {
    try {
      proveKey(head, key);
      return key;
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

function check(dir: string, { instanceKey }: InstanceRestore['config']): void {
  if (checkStoreFile(dir) === 'new') {
    throw new ServiceError('ARTIFACT_UNFIT', 'There is no store in the backup.');
  }
  openSecretBox({ dir, ...(instanceKey !== null && { key: instanceKey }) });
}

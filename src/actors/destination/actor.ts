/**
 * Owns the `destination` actor: a place where backups of a team are kept.
 *
 * 1. Keys of a bucket, and what opens encrypted backups, are stored sealed, each for its own destination.
 * 2. Each destination has a folder of its own, or its own keys in a bucket, named by its id.
 * 3. A test is over before its caller stops waiting, whatever the other side does.
 */
import type { Destination } from '../../backups/destinations/destination.ts';
import { openDestination } from '../../backups/destinations/open.ts';
import { testDestination } from '../../backups/destinations/probe.ts';
import type { BucketTiming } from '../../backups/destinations/s3/bucket.ts';
import {
  makeServerFolder,
  removeServerFolder,
} from '../../backups/destinations/server-destination.ts';
import { newKeyPair } from '../../backups/streams/age/keys.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DestinationRecord, EncryptionRecord } from '../../store/records/records.ts';
import { insert, put, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import type { SecretBox } from '../workload/deps.ts';
import { checkDestination } from './checked.ts';
import { keysContext, placeOf, recoveryContext, serverPlace, type ServerRoots } from './place.ts';
import { destinationActor, type DestinationProtocol, type NewDestination } from './protocol.ts';

export interface DestinationParts {
  reader: Reader;
  clock: Clock;
  logger: Logger;
  secrets: SecretBox;
  /** The way to buckets. */
  fetch: GuardedFetch;
  roots: ServerRoots;
  /** Of a test; default as below. */
  timing?: BucketTiming;
  testMs?: number;
}

/** Together with the removal of what was begun, less than a caller waits. */
const testMsDefault = 15_000;
const testTiming: BucketTiming = { silenceMs: 10_000, tries: 3, backoffMs: 250, cleanUpMs: 5_000 };

export function destinationActorDefinition(
  parts: DestinationParts,
): ActorDefinition<DestinationProtocol> {
  return { kind: destinationActor, activate: (context) => handlersOf(parts, context) };
}

function handlersOf(
  parts: DestinationParts,
  context: ActorContext<DestinationProtocol>,
): Actor<DestinationProtocol> {
  const { reader, clock, secrets } = parts;
  const { id } = context.ref;
  const found = (): Readonly<DestinationRecord> => {
    const record = reader.get(tables.destinations, id);
    if (!record) throw new ServiceError('NOT_FOUND', 'No such destination.');
    return record;
  };
  return {
    create: async ({ teamId, destination }) => {
      const record = await newRecord(parts, { id, teamId }, destination);
      await context.commit([insert(tables.destinations, record)]);
      return record;
    },
    test: async () => {
      const error = await faultOf(parts, found(), context.signal);
      const tested = { ...found(), lastTestAtMs: clock.now(), lastTestError: error };
      await context.commit([put(tables.destinations, tested)]);
      return { ok: error === null, error };
    },
    delete: async () => {
      const record = found();
      await context.commit([take(tables.destinations, id)]);
      if (record.bucket === null) await removeFolder(parts, record);
      return true;
    },
    'recovery-key': () => {
      const { encryption } = found();
      if (encryption === null) {
        throw new ServiceError('CONFLICT', 'Backups of this destination are not encrypted.');
      }
      return secrets.open(encryption.recoveryKeySealed, recoveryContext(id));
    },
  };
}

async function newRecord(
  { clock, secrets, fetch, roots }: DestinationParts,
  { id, teamId }: Pick<DestinationRecord, 'id' | 'teamId'>,
  input: NewDestination,
): Promise<DestinationRecord> {
  const { name, path, bucket } = checkDestination(input, { roots, fetch });
  if (bucket === null) await makeFolder({ id, path }, roots);
  const sealed = (keys: object): Uint8Array => secrets.seal(JSON.stringify(keys), keysContext(id));
  return {
    ...{ id, teamId, name, kind: input.kind, path },
    bucket: bucket && {
      endpoint: bucket.endpoint,
      name: bucket.name,
      region: bucket.region,
      keysSealed: sealed({ accessKey: bucket.accessKey, secretKey: bucket.secretKey }),
    },
    encryption: input.encrypt ? newEncryption(id, secrets) : null,
    createdAtMs: clock.now(),
    lastTestAtMs: null,
    lastTestError: null,
  };
}

async function makeFolder(
  place: Pick<DestinationRecord, 'id' | 'path'>,
  roots: ServerRoots,
): Promise<void> {
  try {
    await makeServerFolder(serverPlace(place, roots));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const detail = `The folder of the destination cannot be made (${code ?? 'unknown'}).`;
    throw new ServiceError('DESTINATION_FAILED', detail, { cause: error });
  }
}

/** What is kept there stays, and so does a folder that cannot be reached. */
async function removeFolder(
  { roots, logger }: DestinationParts,
  record: Readonly<DestinationRecord>,
): Promise<void> {
  try {
    await removeServerFolder(serverPlace(record, roots));
  } catch (error) {
    logger.info({ err: error, id: record.id }, 'destination_folder_stays');
  }
}

function newEncryption(id: string, secrets: SecretBox): EncryptionRecord {
  const { recipient, recoveryKey } = newKeyPair();
  return { recipient, recoveryKeySealed: secrets.seal(recoveryKey, recoveryContext(id)) };
}

/** What keeps the destination from being used, as a sentence; null when nothing does. */
async function faultOf(
  parts: DestinationParts,
  record: Readonly<DestinationRecord>,
  ended: AbortSignal,
): Promise<string | null> {
  const late = AbortSignal.timeout(parts.testMs ?? testMsDefault);
  try {
    await testDestination(opened(parts, record), AbortSignal.any([ended, late]));
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error.message;
    if (late.aborted) return 'The destination takes too long.';
    throw error;
  }
}

function opened(parts: DestinationParts, record: Readonly<DestinationRecord>): Destination {
  const { fetch, roots, secrets, timing = testTiming } = parts;
  return openDestination(placeOf(record, roots, secrets), { fetch, timing });
}

/** Owns where a stored destination is, and what its secrets are sealed for. */
import type {
  DestinationPlace,
  S3Place,
  ServerPlace,
} from '../../backups/destinations/destination.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { BucketRecord, DestinationRecord } from '../../store/records/records.ts';
import type { SecretBox } from '../workload/deps.ts';

/** Where folders of destinations may be. */
export interface ServerRoots {
  /** The data directory, in which they have a folder. */
  dataDir: string;
  /** Absolute paths that the operator names, without a slash at their end. */
  backupRoots: readonly string[];
}

/** Below the data directory. */
export const ownRootName = 'backups';

type Place = Pick<DestinationRecord, 'id' | 'path'>;

export function placeOf(
  record: Readonly<DestinationRecord>,
  roots: ServerRoots,
  secrets: SecretBox,
): DestinationPlace {
  return record.bucket === null
    ? serverPlace(record, roots)
    : bucketPlace(record, record.bucket, secrets);
}

/** Throws DESTINATION_FAILED where the operator does not let backups be there any more. */
export function serverPlace({ id, path }: Place, roots: ServerRoots): ServerPlace {
  const names = path?.split('/') ?? [];
  if (path?.startsWith('/') !== true) {
    return { kind: 'server', root: roots.dataDir, path: [ownRootName, ...names, id], isOurs: true };
  }
  const root = rootOf(path, roots);
  if (root === undefined) {
    const detail = 'The operator does not let backups be in this folder (backupRoots).';
    throw new ServiceError('DESTINATION_FAILED', detail);
  }
  const below = path.slice(root.length).split('/').slice(1);
  return { kind: 'server', root, path: [...below, id], isOurs: false };
}

/** What stands behind the root in an absolute path; '' for the root itself, null where it is in none. */
export function belowRoot(path: string, roots: ServerRoots): string | null {
  const root = rootOf(path, roots);
  return root === undefined ? null : path.slice(root.length + 1);
}

function bucketPlace({ id, path }: Place, bucket: BucketRecord, secrets: SecretBox): S3Place {
  const { endpoint, name, region, keysSealed } = bucket;
  const { accessKey, secretKey } = JSON.parse(secrets.open(keysSealed, keysContext(id))) as {
    accessKey: string;
    secretKey: string;
  };
  const prefix = path === null ? `${id}/` : `${path}/${id}/`;
  return { kind: 's3', endpoint, bucket: name, region, prefix, accessKey, secretKey };
}

export function keysContext(id: string): string {
  return `destination-keys:${id}`;
}

export function recoveryContext(id: string): string {
  return `destination-recovery:${id}`;
}

function rootOf(path: string, { backupRoots }: ServerRoots): string | undefined {
  return backupRoots.find((root) => path === root || path.startsWith(`${root}/`));
}

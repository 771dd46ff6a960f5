/** Owns what restores are given: where artifacts lie meanwhile, how they are opened, what puts them back. */
import { createGunzip } from 'node:zlib';
import { Readable } from 'node:stream';
import type { RestoreDeps } from '../actors/restore/deps.ts';
import { identityContext, placeOf } from '../actors/destination/place.ts';
import { openDestination } from '../backups/destinations/open.ts';
import { ServiceError } from '../lib/errors.ts';
import { tables } from '../store/records/tables.ts';
import type { ActorParts } from './actors.ts';

export function restoreDeps({ config, reader, secrets, fetch, folders }: ActorParts): RestoreDeps {
  return {
    root: folders.restores,
    unpack: (artifact) => Readable.from(artifact).pipe(createGunzip()),
    openPlace: (destinationId) => {
      const record = reader.get(tables.destinations, destinationId);
      if (record === undefined) throw new ServiceError('NOT_FOUND', 'No such destination.');
      const sealed = record.encryption?.identitySealed;
      const identity = sealed && secrets.open(sealed, identityContext(destinationId));
      const destination = openDestination(placeOf(record, config, secrets), { fetch });
      return { destination, identity: identity ?? null };
    },
    restorerOf: () => {
      throw new ServiceError('NOT_BUILT_YET', 'This cannot be restored yet.');
    },
  };
}

/** Throws RECOVERY_KEY_WRONG unless the key opens the artifact that begins like this. */
export function proveKey(_head: Uint8Array, _recoveryKey: string): void {
  throw new ServiceError('NOT_BUILT_YET', 'Encrypted artifacts cannot be restored yet.');
}

/** Owns the proof that a recovery key opens an artifact, by its first bytes alone. */
import { headerEnd, headerMaxBytes, openHeader } from '../streams/age/header.ts';
import { identityOf } from '../streams/age/keys.ts';
import { corrupt } from '../streams/refusals.ts';

/**
 * Throws RECOVERY_KEY_WRONG unless the key opens the artifact that begins like this, and ARTIFACT_CORRUPT where
 * nothing could.
 */
export function proveKey(head: Uint8Array, recoveryKey: string): void {
  const identity = identityOf(recoveryKey);
  const bytes = Buffer.from(head.subarray(0, headerMaxBytes));
  const end = headerEnd(bytes);
  if (end === null) throw corrupt('its header is cut off, or has no end');
  openHeader(bytes.subarray(0, end), identity);
}

/** Owns the refusal of what would reach into a restore or a move. */
import { ServiceError } from '../../lib/errors.ts';

export type HeldFor = 'restore' | 'move';

/** Throws RESTORE_RUNNING while a restore has the target for itself, and CONFLICT while it is moved. */
export function checkNotHeld({ heldFor }: { readonly heldFor: HeldFor | null }): void {
  const retry = { retryAfterS: 5 };
  if (heldFor === 'restore') {
    const detail = 'A restore is replacing its data. Try again when it is done.';
    throw new ServiceError('RESTORE_RUNNING', detail, retry);
  }
  if (heldFor === 'move') {
    const detail = 'It is being moved to another server. Try again when that is done.';
    throw new ServiceError('CONFLICT', detail, retry);
  }
}
